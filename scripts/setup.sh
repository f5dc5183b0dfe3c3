#!/bin/sh
# setup.sh [PACKAGE...]: install what Tandem and its examples need on Debian 12 or later, or Ubuntu
# 24.04, as root: CRIU, their peers (Dropbear, Merecat, Redis, curl, scp for Dropbear's side of a
# copy) and build tools; and the packages of profiles that are named, or all of them ("all").
# Does nothing, quickly, where everything is there. No service is started.
set -eu

say() { echo "setup: $*" >&2; }
fail() { say "$*"; exit 1; }

# missing_packages prints the packages whose command or file is absent.
missing_packages() {
	{ needed_packages; profile_packages "$@"; test_packages "$@"; } | while read -r package file; do
		[ -e "$file" ] || printf '%s ' "$package"
	done
}

needed_packages() {
	cat <<END
dropbear-bin /usr/sbin/dropbear
dropbear-bin /usr/bin/dbclient
merecat /usr/sbin/merecat
curl /usr/bin/curl
redis-tools /usr/bin/redis-cli
redis-server /usr/bin/redis-server
openssh-client /usr/bin/scp
gcc /usr/bin/gcc
libc6-dev /usr/include/stdlib.h
make /usr/bin/make
ca-certificates /etc/ssl/certs/ca-certificates.crt
debian-archive-keyring /usr/share/keyrings/debian-archive-keyring.gpg
END
}

# profile_packages are those of the arguments, besides the above. Inetd starts Dropbear.
profile_packages() {
	while read -r package file; do
		case " $* " in *" all "* | *" $package "*) echo "$package $file" ;; esac
	done <<END
openbsd-inetd /usr/sbin/inetd
mini-httpd /usr/sbin/mini_httpd
lighttpd /usr/sbin/lighttpd
nginx /usr/sbin/nginx
openssh-server /usr/sbin/sshd
mosquitto /usr/sbin/mosquitto
memcached /usr/bin/memcached
python3 /usr/bin/python3
postgresql /usr/lib/postgresql
mariadb-server /usr/sbin/mariadbd
dnsmasq-base /usr/sbin/dnsmasq
unbound /usr/sbin/unbound
bind9 /usr/sbin/named
vsftpd /usr/sbin/vsftpd
opensmtpd /usr/sbin/smtpd
dovecot-imapd /usr/sbin/dovecot
dovecot-imapd /usr/lib/dovecot/imap
dovecot-pop3d /usr/lib/dovecot/pop3
slapd /usr/sbin/slapd
rabbitmq-server /usr/lib/rabbitmq/bin/rabbitmq-server
nats-server /usr/sbin/nats-server
etcd-server /usr/bin/etcd
apache2-bin /usr/sbin/apache2
websocketd /usr/bin/websocketd
END
}

# test_packages are those that only tests need: a browser, for pages, and SPIN, to be compared with.
# They come with all profiles. The browser of Ubuntu is a snap, which a container cannot have.
test_packages() {
	case " $* " in *" all "* | *" spin "*) echo "spin /usr/bin/spin" ;; esac
	case " $* " in
	*" all "*)
		if grep -qs '^ID=ubuntu$' /etc/os-release; then
			say "LEFT OUT: Chromium, which Ubuntu has only as a snap: without a browser, tests of pages are skipped"
		else
			echo "chromium /usr/bin/chromium"
		fi
		;;
	esac
}

# install_packages installs without starting services: the packages' scripts ask
# policy-rc.d, which forbids everything (101) while this runs.
install_packages() {
	policy=/usr/sbin/policy-rc.d
	mark="written by Tandem's setup.sh"
	if [ -e "$policy" ] && ! grep -q "$mark" "$policy"; then
		mv "$policy" "$policy.before-tandem"
	fi
	trap 'rm -f "$policy"; [ ! -e "$policy.before-tandem" ] || mv "$policy.before-tandem" "$policy"' EXIT
	trap 'exit 1' INT TERM
	printf '#!/bin/sh\n# %s\nexit 101\n' "$mark" >"$policy"
	chmod 755 "$policy"
	# In a condition, as this is, set -e is off.
	apt-get -qq -o APT::Update::Error-Mode=any update >&2 &&
		DEBIAN_FRONTEND=noninteractive apt-get -qq --yes --no-install-recommends install "$@" >&2
}

command -v go >/dev/null || fail "Go is missing: install Go 1.26 or later (https://go.dev/doc/install) and put it in PATH"

missing=$(missing_packages "$@")
if [ -n "$missing" ]; then
	[ "$(id -u)" = 0 ] || fail "must run as root to install: $missing"
	command -v apt-get >/dev/null || fail "needs apt-get to install: $missing"
	say "installing $missing"
	# shellcheck disable=SC2086 # a list of words
	install_packages $missing ||
		fail "apt-get cannot install them; on Ubuntu, most are in universe: add-apt-repository universe"
fi

# Restores by CRIU need nf_tables. Where the kernel has it built in, or loads it when asked, there is nothing to do.
[ -e /sys/module/nf_tables ] || modprobe -q nf_tables 2>/dev/null || true

sh "$(dirname "$0")/install-criu.sh"
say "everything is there"
