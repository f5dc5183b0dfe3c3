title: client of servers that speak the protocol of Redis
program: /usr/bin/redis-cli
package: redis-tools
port: 6379
runs: commands, one in each line, in place of one in the arguments
asks: a command

# Commands that are not in the arguments are read from standard input.
command: redis-cli -h {sut} -p {port}
command with program: sh -c 'exec "$@" <"$0"' {own}/commands redis-cli -h {sut} -p {port}
arguments: ping
behaviours: 1
clock: virtual
-- commands = {program} --
