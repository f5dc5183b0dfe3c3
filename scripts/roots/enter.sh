#!/bin/sh
# enter.sh IMAGE DIRECTORY BASE JOURNEY: makes the file system of a bare root in the file IMAGE, with
# what is in BASE, and goes a journey in it. roots.sh calls it as the first process of new mount,
# process, host name and IPC namespaces, so that mounts and processes end with it. The steps go to
# file descriptor 3.
set -eu
image=$1 root=$2 base=$3 journey=$4
here=$(cd "$(dirname "$0")" && pwd)

mount --make-rprivate /
mount -o loop "$image" "$root"
cp -a "$base/." "$root/"
cd "$root"

# What a newcomer has got from elsewhere: Go, as its archive has it, and the repository.
cp -a "$(go env GOROOT)" usr/local/go
head=$(git -C "$here" rev-parse HEAD)
git clone -q --bare "$here/../.." srv/tandem.git
git -C srv/tandem.git update-ref --no-deref HEAD "$head"
git -C srv/tandem.git update-ref refs/heads/main "$head"
git -C srv/tandem.git symbolic-ref HEAD refs/heads/main
mkdir roots
cp -r "$here/inside.sh" "$here/alone" "$here/peer" roots/
# Outside the repository they are modules of their own.
for program in alone peer; do printf 'module example.com/%s\n\ngo 1.26\n' $program >roots/$program/go.mod; done
# The README has the command that installs what has to be there before anything else.
git -C srv/tandem.git show main:README.md | sed -n 's/^[$ ]*\(apt-get .*install .*\)/\1/p' | head -n 1 >roots/packages

# How this machine reaches its mirror and the proxy of modules.
rm -f etc/resolv.conf # in some releases it is a link
cp /etc/resolv.conf etc/resolv.conf
echo bare >etc/hostname
echo 127.0.0.1 localhost bare >etc/hosts
apt-config dump | grep -E '^Acquire::(Check-|https?::Proxy)' >etc/apt/apt.conf.d/99machine || :
# A newcomer answers yes.
echo 'APT::Get::Assume-Yes "true";' >etc/apt/apt.conf.d/99yes
{
	for name in GOPROXY GOSUMDB GONOSUMDB GOINSECURE GOFLAGS GOTOOLCHAIN; do
		echo "export $name='$(go env $name)'"
	done
	env | grep -iE '^(https?|no)_proxy=' | sed "s/^\([^=]*\)=\(.*\)/export \1='\2'/" || :
	# A machine whose certificates are its own has named them.
	if [ -n "${SSL_CERT_FILE:-}" ]; then
		cp "$SSL_CERT_FILE" roots/certificates
		echo export SSL_CERT_FILE=/roots/certificates
	fi
} >roots/environment

mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup || :
mount -t tmpfs -o mode=755,size=256m tmpfs run
mount -t tmpfs -o mode=1777,size=4g tmpfs tmp
mount -t tmpfs -o mode=755,size=1m tmpfs dev
mkdir dev/pts dev/shm dev/net
mount -t tmpfs -o mode=1777,size=1g tmpfs dev/shm
mount -t devpts -o newinstance,ptmxmode=666,mode=620,gid=5 devpts dev/pts
for device in null zero full random urandom tty fuse net/tun; do
	[ ! -e /dev/$device ] || mknod -m 666 dev/$device c "$(stat -c %Hr /dev/$device)" "$(stat -c %Lr /dev/$device)"
done
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
ln -s /proc/self/fd/0 dev/stdin
ln -s /proc/self/fd/1 dev/stdout
ln -s /proc/self/fd/2 dev/stderr
hostname bare

# The machine's own file system is to be out of reach: CRIU and user namespaces mind a chroot.
mkdir roots/old
pivot_root . roots/old
umount -l roots/old
exec env -i HOME=/root PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
	sh /roots/inside.sh "$journey"
