title: name server
program: /usr/sbin/named
package: bind9
port: 5353
ports: 53
offers: a.example.test, 10.0.0.1, and b.example.test, 10.0.0.2, unless you give another
  {scratch}/NAME/zone

# -g: in the foreground, log to standard error; -n: so many threads.
command: named -g -u root -n 1 -c {own}/named.conf
clock: virtual
-- named.conf --
options {
  directory "{own}";
  listen-on port {port} { 127.0.0.1; };
  listen-on-v6 { none; };
  pid-file none;
  session-keyfile none;
  recursion no;
  notify no;
  tcp-idle-timeout 1200;
};
controls { };
zone "example.test" { type primary; file "zone"; };
-- zone --
$TTL 60
@ IN SOA ns root 1 60 60 60 60
  IN NS ns
ns IN A 127.0.0.1
a IN A 10.0.0.1
b IN A 10.0.0.2
