#!/bin/sh
# roots.sh [-c DIR] [-g GIGABYTES] [-r "ROOT..."] [JOURNEY...]: go a newcomer's way in bare roots.
#
# Roots are bookworm (Debian 12), trixie (Debian 13) and noble (Ubuntu 24.04), all by default.
# Journeys are demo, install, tutorial and test; the first three by default. inside.sh has them. Each journey has a fresh root, made from what debootstrap made once, in mount, process,
# host name and IPC namespaces of its own. Only the network is the machine's, as the journeys
# install packages and fetch modules. The repository is that of this script, as it is committed.
#
# -c DIR   keeps debootstrap's roots, and the logs, about 600 MB (/var/tmp/tandem-roots). Remove
#          DIR/base.ROOT to have it made anew.
# -g SIZE  how large the file system of a journey may become, in gigabytes (14). It is a file in
#          DIR, which is removed after the journey, also if that fails or is interrupted.
#
# The mirror and the settings of apt, of Go, and of proxies are those of this machine. Ubuntu needs a
# mirror that has Ubuntu beside Debian; a root that cannot be had is an error that says so.
#
# Prints a table: root, journey, step, what its exit code is to be, what it was, seconds, seconds of
# processors. The exit code is 1 if one was not what it is to be. Needs root, debootstrap, and loop devices.
set -eu

say() { echo "roots: $*" >&2; }
fail() { say "$*"; exit 2; }

here=$(cd "$(dirname "$0")" && pwd)
cache=/var/tmp/tandem-roots size=14 roots="bookworm trixie noble"
while getopts c:g:r: option; do
	case $option in
	c) cache=$OPTARG ;;
	g) size=$OPTARG ;;
	r) roots=$OPTARG ;;
	*) fail "the options are -c DIR, -g GIGABYTES and -r ROOTS" ;;
	esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- demo install tutorial
[ "$(id -u)" = 0 ] || fail "must run as root"
for tool in debootstrap mkfs.ext4 unshare git go; do
	command -v "$tool" >/dev/null || fail "$tool is missing"
done

# What apt itself would fetch names the mirror: of ".../debian/dists/bookworm/InRelease" it is "...".
mirror=$(apt-get update --print-uris |
	sed -n -E "s,^'(.*)/(debian|ubuntu)/*/dists/[a-z]+/InRelease'.*,\1,p" | head -n 1)
[ -n "$mirror" ] || fail "found no mirror of Debian or Ubuntu among the apt sources"

# fetch URI FILE goes the way that apt goes.
fetch() { /usr/lib/apt/apt-helper -qq -o APT::Sandbox::User=root download-file "$1" "$2" >/dev/null 2>&1; }

# Sizes are bounded by the file system; images and mounts go with the process that has them.
work=
child=
finish() {
	[ -z "$child" ] || kill -KILL "$child" 2>/dev/null || :
	[ -z "$child" ] || wait "$child" 2>/dev/null || :
	[ -z "$work" ] || rm -rf "$work"
}
trap finish EXIT
trap 'exit 2' INT TERM HUP
mkdir -p "$cache"
cache=$(cd "$cache" && pwd)
work=$(mktemp -d "$cache/work.XXXXXX")

# Ubuntu signs with keys of its own. Debian 13 has them as a package, which apt checks by Debian's.
ubuntu_keys() {
	keys=/usr/share/keyrings/ubuntu-archive-keyring.gpg
	[ ! -e "$keys" ] || return 0
	mkdir -p "$work/apt/lists/partial" "$work/apt/none"
	: >"$work/apt/status"
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror/debian trixie main" \
		>"$work/apt/sources.list"
	set -- -qq -o Dir::State="$work/apt" -o Dir::State::status="$work/apt/status" -o Dir::Cache="$work/apt" \
		-o Dir::Etc::sourcelist="$work/apt/sources.list" -o Dir::Etc::sourceparts="$work/apt/none" \
		-o APT::Update::Error-Mode=any -o APT::Sandbox::User=root
	apt-get "$@" update && (cd "$work/apt" && apt-get "$@" download ubuntu-keyring) || return 1
	dpkg-deb -x "$work"/apt/ubuntu-keyring_*.deb "$work/keyring" || return 1
	keys=$work/keyring$keys
}

# base ROOT makes what all journeys in it begin with, once.
base() {
	[ ! -d "$cache/base.$1" ] || return 0
	case $1 in
	bookworm | trixie) set -- "$1" debian /usr/share/keyrings/debian-archive-keyring.gpg ;;
	noble)
		fetch "$mirror/ubuntu/dists/noble/InRelease" "$work/InRelease" || {
			say "NO UBUNTU: the mirror of this machine has it not"
			return 1
		}
		ubuntu_keys || { say "NO UBUNTU: its keys are not to be had from Debian"; return 1; }
		set -- noble ubuntu "$keys"
		;;
	*) fail "$1 is no root: bookworm, trixie, noble" ;;
	esac
	say "debootstrap makes $1"
	script=/usr/share/debootstrap/scripts/$1
	# A debootstrap that is older than the release: the scripts of all are the same since long.
	[ -e "$script" ] || case $2 in debian) script=${script%/*}/sid ;; *) script=${script%/*}/gutsy ;; esac
	rm -rf "$work/base"
	debootstrap --variant=minbase --keyring="$3" "$1" "$work/base" "$mirror/$2" "$script" \
		>"$cache/$1.debootstrap.log" 2>&1 || {
		tail -n 20 "$cache/$1.debootstrap.log" >&2
		say "debootstrap cannot make $1"
		return 1
	}
	rm -rf "$work"/base/var/cache/apt/archives/*.deb
	sources "$1" "$2" >"$work/base/etc/apt/sources.list"
	mv "$work/base" "$cache/base.$1"
}

# sources SUITE DISTRIBUTION are those that an installation has: updates, security, and all of Ubuntu.
sources() {
	components=main security="$mirror/debian-security $1-security"
	[ "$2" = debian ] || components="main universe" security="$mirror/ubuntu $1-security"
	echo "deb $mirror/$2 $1 $components"
	echo "deb $mirror/$2 $1-updates $components"
	echo "deb $security $components"
}

# journey ROOT JOURNEY runs one, and adds its steps to the table.
journey() {
	base "$1" || { echo "$1 $2 root 0 1 0 0" >>"$work/table"; return; }
	log=$cache/$1.$2.log
	say "$1, $2: the log is $log"
	rm -f "$work/image"
	truncate -s "${size}G" "$work/image"
	mkfs.ext4 -q -O ^has_journal -E lazy_itable_init=1 "$work/image"
	mkdir -p "$work/root"
	: >"$work/steps"
	unshare --mount --pid --uts --ipc --fork --kill-child -- \
		sh "$here/enter.sh" "$work/image" "$work/root" "$cache/base.$1" "$2" \
		>"$log" 2>&1 3>"$work/steps" </dev/null &
	child=$!
	wait "$child" || echo "roots: the journey ended with $?" >>"$log"
	child=
	[ -s "$work/steps" ] || echo "root 0 1 0 0" >"$work/steps"
	sed "s/^/$1 $2 /" "$work/steps" >>"$work/table"
	rm -f "$work/image"
}

: >"$work/table"
for root in $roots; do
	for journey in "$@"; do
		journey "$root" "$journey"
	done
done
{
	echo root journey step wanted exit seconds processor
	cat "$work/table"
} | column -t
awk '$4 != $5 { wrong = 1 } END { exit wrong }' "$work/table"
