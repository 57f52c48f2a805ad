// Verifies the Sigstore bundle in one file with the public key (PEM) in another, offline, with the
// packages of a directory.
// Prints `accepted`, or `refused:` with the code of the error.
import { readFileSync } from "node:fs";
import { createPublicKey } from "node:crypto";
import { createRequire } from "node:module";

const [packages, bundleFile, keyFile] = process.argv.slice(2);
const require = createRequire(`${packages}/`);
const { bundleFromJSON } = require("@sigstore/bundle");
const { Verifier, toSignedEntity, toTrustMaterial } = require("@sigstore/verify");

const root = { certificateAuthorities: [], timestampAuthorities: [], tlogs: [], ctlogs: [] };
const key = createPublicKey(readFileSync(keyFile, "utf8"));
const finder = () => ({ publicKey: key, validFor: () => true });
const thresholds = { tlogThreshold: 0, ctlogThreshold: 0, timestampThreshold: 0 };
try {
  const bundle = bundleFromJSON(JSON.parse(readFileSync(bundleFile, "utf8")));
  new Verifier(toTrustMaterial(root, finder), thresholds).verify(toSignedEntity(bundle));
  console.log("accepted");
} catch (error) {
  console.log(`refused: ${error.code ?? error.name}`);
}
