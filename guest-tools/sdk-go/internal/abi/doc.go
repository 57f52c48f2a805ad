// Package abi is the memory that a component shares with its host, by the canonical ABI.
package abi
