title: LDAP server
program: /usr/sbin/slapd
package: slapd
port: 1389
ports: 389
offers: dc=example,dc=test for all to read, and cn=admin,dc=example,dc=test with the password admin

# Entries are in files, one for each: a database mapped into memory is more than needed.
command: slapd -d none -f {own}/slapd.conf -h ldap://127.0.0.1:{port}
behaviours: 1
clock: virtual
-- slapd.conf 0600 --
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
pidfile {own}/pid
threads 2
idletimeout 0
database ldif
suffix "dc=example,dc=test"
directory "{own}/data"
rootdn "cn=admin,dc=example,dc=test"
rootpw admin
access to * by anonymous read by users read
-- data/dc=example,dc=test.ldif 0600 --
dn: dc=example,dc=test
objectClass: top
objectClass: dcObject
objectClass: organization
o: example
dc: example
structuralObjectClass: organization
