title: name server, a process for each connection
program: /usr/sbin/dnsmasq
package: dnsmasq-base
port: 5353
ports: 53
preferred: yes
offers: a.example.test, 10.0.0.1, and b.example.test, 10.0.0.2, unless you give another
  {scratch}/NAME/hosts

# A process of its own for each connection over TCP.
command: dnsmasq --conf-file=/dev/null --keep-in-foreground --user=root --group=root --pid-file
  --log-facility=- --port={port} --listen-address=127.0.0.1 --bind-interfaces --no-resolv --no-hosts
  --addn-hosts={own}/hosts --local=/example.test/
behaviours: 1
clock: virtual
-- hosts --
10.0.0.1 a.example.test
10.0.0.2 b.example.test
