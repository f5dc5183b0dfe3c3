#!/bin/sh
# base-images.sh DEBIAN GOLANG
#
# Makes stand-ins for the two public images that the Dockerfile begins with, for
# machines that reach no registry: DEBIAN of Debian's packages, from the mirror of
# this machine's apt, and GOLANG of the same with this machine's Go. They have
# apt's settings of this machine, so that apt works in them too. Needs root,
# debootstrap, and DOCKER_HOST. The suite is that of the Dockerfile.
set -eu

say() { echo "base-images: $*" >&2; }
fail() { say "$*"; exit 1; }

debian=$1 golang=$2
here=$(dirname "$(realpath "$0")")
suite=$(sed -n 's/^ARG BASE_IMAGE=debian:\(.*\)-slim$/\1/p' "$here/../../Dockerfile")
[ -n "$suite" ] || fail "the Dockerfile does not name a suite of Debian"

# What apt itself would fetch names the mirror, whatever form its sources have.
mirror=$(apt-get update --print-uris |
	sed -n "s,^'\(.*/debian\)/*/dists/[a-z0-9]*/InRelease'.*,\1,p" | head -n 1)
[ -n "$mirror" ] || fail "found no Debian mirror among the apt sources"

work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 1' INT TERM

say "making Debian $suite"
http_proxy=$(apt-config dump --format '%v' Acquire::http::Proxy)
[ -z "$http_proxy" ] || export http_proxy
debootstrap --variant=minbase --include=ca-certificates "$suite" "$work/root" "$mirror" \
	>"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; fail "debootstrap failed"; }
root=$work/root
rm -rf "$root"/var/cache/apt/*.bin "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* \
	"$root"/usr/share/doc/* "$root"/usr/share/man/* "$root"/usr/share/locale/* "$root"/var/log/*.log
# How this machine reaches its mirror, and how old an index may be.
apt-config dump | grep -E '^Acquire::(Check-|https?::Proxy)' >"$root/etc/apt/apt.conf.d/90machine" || true
# As in the public image: apt keeps no caches, and packages bring no documentation.
cat >"$root/etc/apt/apt.conf.d/91slim" <<END
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Acquire::Languages "none";
DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb || true"; };
END
printf 'path-exclude /usr/share/%s/*\n' doc man locale >"$root/etc/dpkg/dpkg.cfg.d/slim"
tar -C "$root" --numeric-owner -c . | docker import -c 'CMD ["bash"]' - "$debian" >&2

say "making the image of Go"
mkdir "$work/context"
cp -a "$(go env GOROOT)" "$work/context/go"
cp /etc/ssl/certs/ca-certificates.crt "$work/context/"
cat >"$work/context/Dockerfile" <<END
FROM $debian
RUN apt-get -qq update && apt-get -qq --yes --no-install-recommends install gcc libc6-dev make
COPY ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY go /usr/local/go
RUN mkdir /go && chmod 1777 /go
ENV PATH=/go/bin:/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    GOTOOLCHAIN=local GOPATH=/go
END
docker build -q --network host -t "$golang" "$work/context" >&2
