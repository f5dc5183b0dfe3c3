title: Dropbear's client of SSH servers
program: /usr/bin/dbclient
package: dropbear-bin
port: 2222
ports: 22 2200
asks: the command for the server

# -y -y: any host key will do; -T: no terminal. Who logs in may have any name, or the key.
# The key is public by intention: it opens nothing but what is checked.
command: dbclient -y -y -T -i {own}/key -p {port} tandem@{sut}
arguments: true
behaviours: 1
clock: virtual
-- key 0600 = client_key.dropbear --
-- key.pub --
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDEUp0153SIPFMkUWXmRi0nurksdpGCHkrDJPkHRy0wY tandem
