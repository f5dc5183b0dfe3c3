title: key-value store, one member
program: /usr/bin/etcd
package: etcd-server
port: 2379
offers: no keys, and needs no user

# It counts ticks of the clock to elect a leader. A member that is alone elects itself in one.
command: etcd --data-dir {own}/data --listen-client-urls http://127.0.0.1:{port}
  --advertise-client-urls http://127.0.0.1:{port} --listen-peer-urls http://127.0.0.1:2380
  --initial-advertise-peer-urls http://127.0.0.1:2380 --initial-cluster
  default=http://127.0.0.1:2380 --unsafe-no-fsync --logger zap --log-level warn
environment: GOMAXPROCS=1
