#!/bin/sh
# release.sh VERSION [DIRECTORY] makes the archives of a release of the tree that it is in, such as
# tandem-v0.1.0-linux-amd64.tar.gz, and sha256sums, in a directory (default bin/release). The same
# source and the same releases of Go and of the C compiler give the same bytes, on any day and in
# any directory. The date of everything is that of the commit, or SOURCE_DATE_EPOCH.
set -eu
umask 022
LC_ALL=C TZ=UTC
export LC_ALL TZ
version=${1:-}
if ! echo "$version" | grep -Eq '^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$'; then
	echo "release: the version \"$version\" is not like v0.1.0: run make release VERSION=v0.1.0" >&2
	exit 1
fi
cd "$(dirname "$0")/.."
mkdir -p "${2:-bin/release}"
to=$(cd "${2:-bin/release}" && pwd)
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
	if [ -n "$(git status --porcelain)" ]; then
		echo "release: the tree has changes that are in no commit: commit them, or set SOURCE_DATE_EPOCH" >&2
		exit 1
	fi
	SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
fi
export SOURCE_DATE_EPOCH

# Objects that lie there may be of another compiler.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -f peers/shim/src/nd.so peers/shim/src/vdso.so
make -s peers/shim/src/nd.so peers/shim/src/vdso.so >/dev/null

name=tandem-$version-linux-amd64
tree=$work/$name
mkdir "$tree" "$tree/completions"
# No path, no identity of a build, no state of a version control is in the program. What the
# environment says of how to build must not count.
env GOFLAGS= GOENV=off GOEXPERIMENT= CGO_ENABLED=0 GOOS=linux GOARCH=amd64 GOAMD64=v1 \
	"${GO:-go}" build -trimpath -buildvcs=false \
	-ldflags "-s -w -buildid= -X main.released=$version" -o "$tree/tandem" ./cmd/tandem
"$tree/tandem" man "$tree/man/man1"
for shell in bash fish zsh; do
	"$tree/tandem" completion "$shell" >"$tree/completions/tandem.$shell"
done
cp LICENSE README.md CHANGELOG.md "$tree"
# The order, the owners, the dates and the modes of files are fixed, and gzip notes no date.
tar -C "$work" --format=ustar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
	--mode=u=rwX,go=rX -cf "$work/$name.tar" "$name"
gzip -9n "$work/$name.tar"
mv "$work/$name.tar.gz" "$to"
cd "$to"
sha256sum "$name.tar.gz" >sha256sums
echo "$to/$name.tar.gz"
