title: database in memory, which saves nothing
program: /usr/bin/redis-server
package: redis-server
port: 6379

# hz: how often it wakes up in a second, to expire keys among other things.
command: redis-server {own}/redis.conf
-- redis.conf --
bind 127.0.0.1
port {port}
daemonize no
dir {own}
save ""
appendonly no
hz 1
dynamic-hz no
activerehashing no
jemalloc-bg-thread no
set-proc-title no
timeout 0
tcp-keepalive 0
loglevel notice
