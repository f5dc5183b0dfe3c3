#!/bin/sh
# engine.sh start DIRECTORY | apart DIRECTORY | stop DIRECTORY | install
#
# A Docker engine for the test of the container, on machines that have none. It
# is started by hand, has all of its files in DIRECTORY, and touches neither the
# network nor another engine of the machine: containers use the network of the
# host, or none. "start" prints the address for DOCKER_HOST. "apart" starts it in
# a network namespace of its own, where it can make networks for containers, and
# from where nothing outside is reached. If it runs already, it is started again so,
# with its images. "install" installs Debian's packages that this directory needs,
# without starting a service.
set -eu

say() { echo "engine: $*" >&2; }
fail() { say "$*"; exit 1; }

# The client of Docker may be of elsewhere, so packages are told by commands. Since
# Debian 13 it is a package of its own.
missing_packages() {
	client=docker-cli
	apt-cache show "$client" >/dev/null 2>&1 || client=
	while read -r program package; do
		command -v "$program" >/dev/null || printf '%s ' "$package"
	done <<END
dockerd docker.io
debootstrap debootstrap
docker $client
END
}

install() {
	missing=$(missing_packages)
	[ -n "$missing" ] || return 0
	[ "$(id -u)" = 0 ] || fail "must run as root to install: $missing"
	command -v apt-get >/dev/null || fail "needs apt-get to install: $missing"
	say "installing $missing"
	# Asked by the packages' scripts, it forbids to start anything (101).
	policy=/usr/sbin/policy-rc.d
	if [ ! -e "$policy" ]; then
		trap 'rm -f "$policy"' EXIT
		trap 'exit 1' INT TERM
		printf '#!/bin/sh\nexit 101\n' >"$policy"
		chmod 755 "$policy"
	fi
	apt-get -qq -o APT::Update::Error-Mode=any -o DPkg::Lock::Timeout=600 update >&2
	# shellcheck disable=SC2086 # a list of words
	DEBIAN_FRONTEND=noninteractive apt-get -qq --yes --no-install-recommends \
		-o DPkg::Lock::Timeout=600 install $missing >&2
}

# started DIRECTORY tells whether its engine answers.
started() { DOCKER_HOST=unix://$1/docker.sock docker info >/dev/null 2>&1; }

# start leaves dockerd in a session of its own. Its log is in the directory.
start() {
	directory=$1
	if [ "$2" = apart ]; then
		end "$directory"
		set -- unshare --net sh -c 'ip link set lo up && exec "$@"' sh
	else
		set --
	fi
	mkdir -p "$directory"
	runtime=$(realpath "$(dirname "$0")")/held-runc.sh
	setsid "$@" dockerd --host "unix://$directory/docker.sock" --data-root "$directory/data" \
		--exec-root "$directory/exec" --pidfile "$directory/pid" --storage-driver overlay2 \
		--bridge none --iptables=false --ip6tables=false --ip-forward=false --ip-masq=false \
		--exec-opt native.cgroupdriver=cgroupfs \
		--add-runtime held="$runtime" --default-runtime held \
		>"$directory/log" 2>&1 </dev/null &
	daemon=$!
	tries=0
	until started "$directory"; do
		tries=$((tries + 1))
		if [ "$tries" -ge 300 ] || ! kill -0 "$daemon" 2>/dev/null; then
			tail -n 20 "$directory/log" >&2
			stop "$directory"
			fail "dockerd does not start"
		fi
		sleep 0.1
	done
	echo "unix://$directory/docker.sock"
}

# end ends the engine of a directory.
end() {
	[ -s "$1/pid" ] || return 0
	pid=$(cat "$1/pid")
	kill "$pid" 2>/dev/null || true
	while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
}

# stop ends the engine of a directory, and removes the directory. What dockerd
# leaves mounted is unmounted first, so that nothing else is removed.
stop() {
	directory=$1
	end "$directory"
	awk -v below="$directory/" 'index($2, below) == 1 { print $2 }' /proc/self/mounts | sort -r |
		while read -r mounted; do umount "$mounted"; done
	rm -rf --one-file-system "$directory"
}

case "${1:-} $#" in
"install 1") install ;;
"start 2") start "$(realpath -m "$2")" together ;;
"apart 2") start "$(realpath -m "$2")" apart ;;
"stop 2") stop "$(realpath -m "$2")" ;;
*) fail "usage: engine.sh start DIRECTORY | apart DIRECTORY | stop DIRECTORY | install" ;;
esac
