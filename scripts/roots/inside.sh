#!/bin/sh
# inside.sh JOURNEY: goes a newcomer's way in a bare root, as its first process. For each step, a line
# goes to file descriptor 3: its name, what its exit code is to be, what it was, and its seconds.
#
# demo      README's commands: install what it says, clone, make demo twice, the advice of doctor.
# install   go install, without the repository. First an ordinary user checks programs alone, then
#           root has doctor install what is missing, and checks a program with a peer.
# tutorial  the commands of the tutorial, to the letter.
# test      make test, twice.
set -eu
# shellcheck disable=SC1091 # enter.sh writes it
. /roots/environment
cd /root

# cpu prints how many seconds of processors lie between the two outputs of times in a file: of each,
# the second line has the children's.
cpu() {
	awk 'NR % 2 == 0 { split($1 "m" $2, t, /[ms]+/); last = now; now = 60 * (t[1] + t[3]) + t[2] + t[4] }
		END { printf "%d\n", now - last }' /roots/times
}

# step NAME WANTED COMMAND runs a command line, for at most $limit seconds. A shell that is the
# first process of its namespace reaps what others leave, as it waits.
limit=1800
step() {
	printf '\n=== %s: %s\n' "$1" "$3"
	start=$(date +%s) status=0
	times >/roots/times
	timeout -k 10 "$limit" sh -ec "$3" 3>&- || status=$?
	times >>/roots/times
	echo "$1 $2 $status $(($(date +%s) - start)) $(cpu)" >&3
	echo "=== $1: exit code $status"
	[ "$2" = "$status" ]
}

# prepared does what a newcomer does before anything else: the README's own line.
prepared() { step packages 0 "$(cat /roots/packages)"; }
# shellcheck disable=SC2164 # the last step was to make it
cloned() { prepared && step clone 0 "git clone -q /srv/tandem.git tandem" && cd tandem; }

demo() {
	cloned || return
	step demo 0 "make demo"
	step demo-again 0 "make demo"
	step doctor 0 "bin/tandem doctor"
	step replay 1 "bin/tandem replay bin/scpto.counterexample --times 100"
}

# The version control system fetches the module from the clone, under its own name.
MODULE=github.com/tandem-mc/tandem
install_it="git config --global url.file:///srv/tandem.git.insteadOf https://$MODULE
git config --global --add safe.directory /srv/tandem.git
GOPRIVATE=$MODULE go install $MODULE/cmd/tandem@main"

# as_user NAME WANTED COMMAND is a step of an ordinary user.
as_user() {
	step "$1" "$2" "cd /home/newcomer && setpriv --reuid=newcomer --regid=newcomer --clear-groups \
env HOME=/home/newcomer PATH=\$PATH:/home/newcomer/go/bin sh -ec '$3'"
}

install() {
	prepared || return
	useradd -m newcomer
	cp -r /roots/alone /home/newcomer/alone
	chown -R newcomer: /home/newcomer
	as_user user-install 0 "$install_it" || return
	as_user user-doctor 3 "tandem doctor"
	as_user user-check 1 "tandem check ./alone"
	as_user user-gallery 1 "git clone -q /srv/tandem.git t && cd t && tandem check ./examples/gallery -- ab-ba"

	PATH=$PATH:/root/go/bin
	step install 0 "$install_it"
	step doctor-before 3 "tandem doctor"
	step check-alone 1 "tandem check /roots/alone"
	step fix 0 "tandem doctor --fix redis"
	step doctor-after 0 "tandem doctor redis"
	step check-peer 1 "cd /roots/peer && tandem check"
	step no-criu 3 "TANDEM_CRIU=/nope tandem doctor"
}

# scripts/follow does what a document says, and compares what is printed with what it shows.
tutorial() {
	cloned || return
	step setup 0 "make setup build"
	step tutorial 0 "cd docs; PATH=\$PWD/../bin:\$PATH go run ../scripts/follow tutorial.md"
}

tests() {
	limit=7200
	cloned || return
	step test 0 "make test"
	step test-again 0 "make test"
}

# A step that goes wrong is in the table. What can be done without it, is.
set +e
case $1 in
demo | install | tutorial) "$1" ;;
test) tests ;;
*) echo "inside.sh: no journey is called $1" >&2; exit 2 ;;
esac
