#!/bin/sh
# prepare-go.sh IMAGE
#
# Puts Go below IMAGE, for the Dockerfile, together with what Tandem would make of
# it in its first check, which takes a minute: the patched twin, and the compiled
# standard library. What is not needed to build programs is left out of both.
# It changes the Go distribution in place, so it is for a container only.
set -eu

image=$1
cache=/var/cache/tandem # as XDG_CACHE_HOME in the Dockerfile
goroot=$(go env GOROOT)

# The source of the tools, tests, and tools other than those of a build.
rm -rf "$goroot/api" "$goroot/doc" "$goroot/misc" "$goroot/test" "$goroot/src/cmd"
find "$goroot/src" -name testdata -type d -prune -exec rm -rf {} +
find "$goroot/src" -name '*_test.go' -delete
for tool in "$goroot"/pkg/tool/linux_amd64/*; do
	case ${tool##*/} in asm | cgo | compile | link) ;; *) rm "$tool" ;; esac
done
rm -rf "$goroot"/pkg/obj "$goroot"/bin/gofmt

# A program that imports what programs of networks import.
work=$(mktemp -d)
cp "$(dirname "$0")/testdata/imports.go" "$work/main.go"
printf 'module imports\n\ngo 1.26\n' >"$work/go.mod"
(cd "$work" && XDG_CACHE_HOME=$cache XDG_STATE_HOME=$work/state "$image/usr/local/bin/tandem" check .)
rm -rf "$work" "$cache/tandem/programs"

# Go forgets in five days what it has not used, and Tandem in a week. Both go by
# the times of files, which are those of the build, so an image that is older than
# that would lose all of this in its first check. Files of the future stay.
find "$cache" -exec touch -h -d 2037-01-01 {} +

# With docker run --user anybody may add to it, and remove only what is his.
find "$cache" -type d -exec chmod 1777 {} +
# As one archive, which keeps hard links.
tar -C / -c "${goroot#/}" "${cache#/}" | tar -C "$image" -x --warning=no-timestamp
du -sh "$image$goroot" "$image$cache" >&2
