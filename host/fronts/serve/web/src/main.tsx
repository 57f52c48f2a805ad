import "./shown";
import { render } from "preact";
import { takeToken } from "./api";
import { App } from "./app";
import { applySettings } from "./settings";

takeToken();
applySettings();
render(<App />, document.body);
