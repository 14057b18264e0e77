#!/bin/sh
# Stands in for the compiler: prints each argument between brackets.
for argument in "$@"; do printf '[%s]\n' "$argument"; done
