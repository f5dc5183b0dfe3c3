title: NATS broker
program: /usr/sbin/nats-server
package: nats-server
port: 4222
offers: all subjects, and needs no user

command: nats-server -c {own}/nats.conf
environment: GOMAXPROCS=1
behaviours: 1
-- nats.conf --
listen: 127.0.0.1:{port}
server_name: tandem
ping_interval: "24h"
write_deadline: "24h"
