// Command gomodule writes a directory with a Go module as a module proxy serves it: below
// OUT/MODULE/@v, the list of versions, and the go.mod, the description and the archive of one.
//
//	gomodule DIRECTORY VERSION TIME OUT
//
// TIME is that of the version, as RFC 3339. The path of the module is that of its go.mod.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: gomodule DIRECTORY VERSION TIME OUT")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, "gomodule:", err)
		os.Exit(1)
	}
}

func run(dir, version, at, out string) error {
	published, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return err
	}
	manifest, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return err
	}
	// Checked as a proxy and the go command do; so is each file, by CreateFromDir.
	named := module.Version{Path: modfile.ModulePath(manifest), Version: version}
	if err := module.Check(named.Path, named.Version); err != nil {
		return err
	}
	escaped, err := module.EscapePath(named.Path)
	if err != nil {
		return err
	}
	versions := filepath.Join(out, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(versions, 0o777); err != nil {
		return err
	}
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{version, published.UTC()})
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		"list":            []byte(version + "\n"),
		version + ".info": info,
		version + ".mod":  manifest,
	} {
		if err := os.WriteFile(filepath.Join(versions, name), content, 0o666); err != nil {
			return err
		}
	}
	archive, err := os.Create(filepath.Join(versions, version+".zip"))
	if err != nil {
		return err
	}
	if err := zip.CreateFromDir(archive, named, dir); err != nil {
		return err
	}
	return archive.Close()
}
