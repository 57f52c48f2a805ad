module gomodule

go 1.24

require golang.org/x/mod v0.0.0

// `packaging/sdks` puts the copy there that the go command itself is built with.
replace golang.org/x/mod => ./mod
