title: cache for keys and values, one worker thread
program: /usr/bin/memcached
package: memcached
port: 11211

# -U 0: no UDP. The threads that tidy up in the background are off, since they wake up by
# themselves.
command: memcached -u root -l 127.0.0.1 -p {port} -U 0 -t 1 -m 16 -o
  no_lru_crawler,no_lru_maintainer,no_slab_reassign,no_hashexpand
