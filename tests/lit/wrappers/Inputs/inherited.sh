#!/bin/sh
# Stands in for the compiler: what did it inherit?
read -r line
echo "input: $line"
echo "descriptor 7: $(cat <&7)"
echo "umask: $(umask)"
