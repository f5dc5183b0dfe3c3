title: name server
program: /usr/sbin/unbound
package: unbound
port: 5353
ports: 53
offers: a.example.test, 10.0.0.1, and b.example.test, 10.0.0.2, unless you give another
  {scratch}/NAME/records.conf

command: unbound -d -c {own}/unbound.conf
behaviours: 1
clock: virtual
-- unbound.conf --
server:
  interface: 127.0.0.1@{port}
  do-daemonize: no
  num-threads: 1
  username: ""
  chroot: ""
  pidfile: ""
  directory: "{own}"
  use-syslog: no
  module-config: "iterator"
  tcp-idle-timeout: 86400000
  include: {own}/records.conf
remote-control:
  control-enable: no
-- records.conf --
local-zone: "example.test." static
local-data: "a.example.test. A 10.0.0.1"
local-data: "b.example.test. A 10.0.0.2"
