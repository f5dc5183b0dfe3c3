#!/bin/sh
# Install a CRIU that can checkpoint TCP sockets on current kernels.
#
# Linux 6.16 withdrew SO_PASSCRED from TCP sockets, and CRIU before 4.2 then fails
# every dump of one (its own "criu check" does not notice). Debian 12 and 13 ship
# older versions. This script takes criu and every library it needs from a newer
# Debian suite, over the mirror and with the settings that this machine's apt already
# uses, and unpacks them into a private directory. No package of the system is
# installed, replaced or configured.
#
# Settings, from the environment:
#   CRIU_SUITE   Debian suite to take CRIU from      (forky)
#   CRIU_PREFIX  private directory                   (/opt/tandem-criu)
#   CRIU_BIN     command to create                   (/usr/local/sbin/criu)
#   CRIU_MIRROR  Debian mirror   (that of the machine's apt; on Ubuntu, which has no CRIU, the
#                one beside its own mirror, or else Debian's, as the package debootstrap has it)
set -eu

suite=${CRIU_SUITE:-forky}
prefix=${CRIU_PREFIX:-/opt/tandem-criu}
command=${CRIU_BIN:-/usr/local/sbin/criu}
oldest=4.2

say() { echo "install-criu: $*" >&2; }
fail() { say "$*"; exit 1; }

# version_of COMMAND... prints the version when it runs and is new enough.
version_of() {
	v=$("$@" --version 2>/dev/null | sed -n 's/^Version: *//p')
	[ -n "$v" ] && dpkg --compare-versions "$v" ge "$oldest" && echo "$v"
}

for found in "$command" "$(command -v criu || true)"; do
	if [ -n "$found" ] && v=$(version_of "$found"); then
		say "$found is CRIU $v already"
		exit 0
	fi
done

[ "$(id -u)" = 0 ] || fail "must run as root to write $prefix and $command"
command -v dpkg-deb >/dev/null || fail "needs apt and dpkg (Debian or a relative of it)"

keys=
for k in /usr/share/keyrings/debian-archive-keyring.pgp /usr/share/keyrings/debian-archive-keyring.gpg; do
	if [ -s "$k" ]; then keys=$k; break; fi
done
[ -n "$keys" ] || fail "Debian's archive keys are missing: run 'apt-get install debian-archive-keyring'"

work=$(mktemp -d)
new=$prefix.new.$$
trap 'rm -rf "$work" "$new" "$command.$$"' EXIT
trap 'exit 1' INT TERM

# has_suite MIRROR says whether it has the suite. Apt's helper goes the way that apt goes.
has_suite() {
	/usr/lib/apt/apt-helper -qq -o APT::Sandbox::User=root \
		download-file "$1/dists/$suite/InRelease" "$work/InRelease" >/dev/null 2>&1
}

# find_mirror prints a Debian mirror. What apt itself would fetch names that of the machine,
# whatever form its sources have.
find_mirror() {
	uris=$(apt-get update --print-uris | sed -n "s,^'\(.*\)/*/dists/[a-z0-9]*/InRelease'.*,\1,p")
	own=$(echo "$uris" | sed -n 's,/debian/*$,&,p' | head -n 1)
	if [ -n "$own" ]; then
		echo "$own"
		return
	fi
	for uri in $uris; do
		case $uri in */ubuntu | */ubuntu/) ;; *) continue ;; esac
		beside=${uri%/ubuntu*}/debian
		if has_suite "$beside"; then
			echo "$beside"
			return
		fi
	done
	(
		cd "$work"
		apt-get -qq -o APT::Sandbox::User=root download debootstrap >&2
		dpkg-deb -x debootstrap_*.deb debootstrap
		sed -n 's/^DEF_MIRROR="\(.*\)"$/\1/p' debootstrap/usr/sbin/debootstrap
	)
}
mirror=${CRIU_MIRROR:-$(find_mirror)}
[ -n "$mirror" ] || fail "found no Debian mirror: set CRIU_MIRROR to one (https://www.debian.org/mirror/list)"

mkdir -p "$work/lists/partial" "$work/archives/partial" "$work/sources" "$work/preferences"
: >"$work/status"
printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n' \
	"$mirror" "$suite" "$keys" >"$work/sources/debian.sources"

# An apt with state, cache and sources of its own, and nothing installed in its
# eyes, so that it also fetches the C library. The machine's proxy settings and
# the like still apply.
private_apt() {
	apt-get -qq \
		-o Dir::State="$work" -o Dir::State::status="$work/status" \
		-o Dir::Cache="$work" -o Dir::Cache::archives="$work/archives" \
		-o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$work/sources" \
		-o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts="$work/preferences" \
		-o Acquire::Languages=none -o Acquire::Retries=3 \
		-o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false \
		-o APT::Update::Error-Mode=any -o APT::Sandbox::User=root "$@"
}

say "fetching CRIU of Debian $suite"
private_apt update >&2
private_apt install --yes --no-install-recommends --download-only criu >&2

# Unpack beside an older tree and try the result before anything is replaced.
mkdir -p "$new" "$(dirname "$command")"
for package in "$work"/archives/*.deb; do dpkg-deb -x "$package" "$new"; done
rm -rf "$new/usr/share" "$new/etc" "$new/var"
libc=$(find "$new/usr/lib" -name libc.so.6 | head -n 1)
libraries=${libc%/*}
loader=$(find "$libraries" -maxdepth 1 -name 'ld-linux*.so.*' | head -n 1)
[ -n "$loader" ] || fail "the packages of Debian $suite hold no dynamic loader"
v=$(version_of "$loader" --library-path "$libraries" "$new/usr/sbin/criu") ||
	fail "CRIU of Debian $suite does not run here or is older than $oldest"

rm -rf "$prefix"
mv "$new" "$prefix"
cat >"$command.$$" <<END
#!/bin/sh
# CRIU $v of Debian $suite with its own C library (written by install-criu.sh)
exec $prefix${loader#"$new"} --library-path $prefix${libraries#"$new"} $prefix/usr/sbin/criu "\$@"
END
chmod 755 "$command.$$"
mv "$command.$$" "$command"
say "$command is CRIU $v of Debian $suite"
