package peers

import (
	_ "embed"
	"io/fs"
	"strings"
)

// Profiles are all profiles. Timeouts of theirs that can be set are so long that none ends
// while a group stands still: what a peer answers must not depend on how long the search
// was elsewhere.
func Profiles() []Profile {
	const pages, home = "the pages", "the home directory of root, such as .ssh/authorized_keys"
	const names = "a.example.test, 10.0.0.1, and b.example.test, 10.0.0.2, unless you give another {scratch}/NAME/"
	const certified = "a certificate for 127.0.0.1, localhost and *.test, which has signed itself; it is below"
	return []Profile{
		{Name: "apache", Title: "web server, one process with threads", Program: "/usr/sbin/apache2", Package: "apache2-bin", Port: 8080, Serves: pages, build: apache},
		{Name: "apache-tls", Title: "the same over TLS", Program: "/usr/sbin/apache2", Package: "apache2-bin", Port: 8443, Serves: pages, Offers: certified, build: apacheTLS},
		{Name: "bind", Title: "name server", Program: "/usr/sbin/named", Package: "bind9", Port: 5353, Offers: names + "zone", build: bind},
		{Name: "curl", Title: "client of web servers", Program: "/usr/bin/curl", Package: "curl", Port: 8080, Asks: "URLs, and options", asks: page, build: curl},
		{Name: "dbclient", Title: "Dropbear's client of SSH servers", Program: "/usr/bin/dbclient", Package: "dropbear-bin", Port: 2222, Asks: "the command for the server", asks: success, build: dbclient},
		{Name: "dnsmasq", Title: "name server, a process for each connection", Program: "/usr/sbin/dnsmasq", Package: "dnsmasq-base", Port: 5353, Offers: names + "hosts", build: dnsmasq},
		{Name: "dovecot", Title: "server of IMAP, and of POP3 at port 1110", Program: "/usr/sbin/dovecot", Package: "dovecot-imapd", Port: 1143, Offers: "mailboxes of all users, with the password \"secret\"", build: dovecot},
		{Name: "dropbear", Title: "SSH server, a process for each connection", Program: "/usr/sbin/dropbear", Package: "dropbear-bin", Port: 2222, Serves: home, build: dropbearForking},
		{Name: "dropbear-inetd", Title: "the same, started by inetd for each connection", Program: "/usr/sbin/inetd", Package: "openbsd-inetd", Port: 2222, Serves: home, build: dropbearInetd},
		{Name: "etcd", Title: "key-value store, one member", Program: "/usr/bin/etcd", Package: "etcd-server", Port: 2379, Offers: "no keys, and needs no user", build: etcd},
		{Name: "go", Title: "a static server written in Go", Port: 8080, Serves: "what it finds in its working directory, {scratch}/NAME/files", Runs: "a static server for Linux (CGO_ENABLED=0) that listens on 127.0.0.1, at the port", build: goServer},
		{Name: "lighttpd", Title: "web server, one process", Program: "/usr/sbin/lighttpd", Package: "lighttpd", Port: 8080, Serves: pages, build: lighttpd},
		{Name: "mariadb", Title: "SQL database, without fsync", Program: "/usr/sbin/mariadbd", Package: "mariadb-server", Port: 3306, Offers: "an empty database test, and the user root without a password: root@tcp(127.0.0.1:3306)/test", build: mariadb},
		{Name: "memcached", Title: "cache for keys and values, one worker thread", Program: "/usr/bin/memcached", Package: "memcached", Port: 11211, build: memcached},
		{Name: "merecat", Title: "web server, one process, descended from thttpd", Program: "/usr/sbin/merecat", Package: "merecat", Port: 8080, Serves: pages, build: merecat},
		{Name: "mini-httpd", Title: "web server, a process for each connection", Program: "/usr/sbin/mini_httpd", Package: "mini-httpd", Port: 8080, Serves: pages, build: miniHTTPD},
		{Name: "mosquitto", Title: "MQTT broker, one process", Program: "/usr/sbin/mosquitto", Package: "mosquitto", Port: 1883, build: mosquitto},
		{Name: "nats", Title: "NATS broker", Program: "/usr/sbin/nats-server", Package: "nats-server", Port: 4222, Offers: "all subjects, and needs no user", build: nats},
		{Name: "nginx", Title: "web server, one process", Program: "/usr/sbin/nginx", Package: "nginx", Port: 8080, Serves: pages, build: nginx},
		{Name: "nginx-tls", Title: "web server over TLS, one process", Program: "/usr/sbin/nginx", Package: "nginx", Port: 8443, Serves: pages, Offers: certified, build: nginxTLS},
		{Name: "opensmtpd", Title: "SMTP server", Program: "/usr/sbin/smtpd", Package: "opensmtpd", Port: 2525, Offers: "to take mail for anybody, which it keeps in {scratch}/NAME/mail", build: opensmtpd},
		{Name: "postgres", Title: "SQL database, without fsync", Program: "/usr/lib/postgresql", Package: "postgresql", Port: 5432, Offers: "an empty database test, and the user postgres with any password: postgres://postgres@127.0.0.1:5432/test", build: postgres},
		{Name: "python", Title: "web server of Python's library, or a script", Program: "/usr/bin/python3", Package: "python3", Port: 8000, Serves: pages, Runs: "a script of Python 3 that listens on 127.0.0.1, at the port", build: python},
		{Name: "rabbitmq", Title: "AMQP broker", Program: "/usr/lib/rabbitmq/bin/rabbitmq-server", Package: "rabbitmq-server", Port: 5672, Offers: "no queues, and the user guest with the password guest", build: rabbitmq},
		{Name: "redis", Title: "database in memory, which saves nothing", Program: "/usr/bin/redis-server", Package: "redis-server", Port: 6379, build: redis},
		{Name: "redis-cli", Title: "client of servers that speak the protocol of Redis", Program: "/usr/bin/redis-cli", Package: "redis-tools", Port: 6379, Asks: "a command", Runs: "commands, one in each line, in place of one in the arguments", asks: ping, build: redisCLI},
		{Name: "slapd", Title: "LDAP server", Program: "/usr/sbin/slapd", Package: "slapd", Port: 1389, Offers: "dc=example,dc=test for all to read, and cn=admin,dc=example,dc=test with the password admin", build: slapd},
		{Name: "sshd", Title: "OpenSSH's server", Program: "/usr/sbin/sshd", Package: "openssh-server", Port: 2222, Serves: home, build: sshd},
		{Name: "thttpd", Title: "web server, one process", Program: "/usr/sbin/thttpd", Advice: "Debian does not have it: build it from https://acme.com/software/thttpd/, or take merecat, which descends from it", Port: 8080, Serves: pages, build: thttpd},
		{Name: "unbound", Title: "name server", Program: "/usr/sbin/unbound", Package: "unbound", Port: 5353, Offers: names + "records.conf", build: unbound},
		{Name: "vsftpd", Title: "FTP server, a process for each connection", Program: "/usr/sbin/vsftpd", Package: "vsftpd", Port: 2121, Serves: "the files", Offers: "all files to read and write, to the user anonymous with any password", build: vsftpd},
	}
}

// Host keys, of the same key: public by intention, they open nothing but these peers.
var (
	//go:embed profiles/host_key
	hostKey []byte
	//go:embed profiles/host_key.dropbear
	dropbearHostKey []byte
)

// A certificate that servers have, and its key: public by intention, too. It is for 127.0.0.1, localhost and
// the names of profiles, and valid from 2000 to 2100.
var (
	//go:embed profiles/certificate.pem
	certificate []byte
	//go:embed profiles/certificate.key
	certificateKey []byte
)

// one is a group with one peer, whose name and address are filled in later.
func one(peer Peer, files ...File) Group {
	return Group{Peers: []Peer{peer}, Files: files, Binds: map[string]string{}}
}

// pages stands for the files of a web server.
func (at place) pages() File {
	return File{Path: at.own + "/www/", Content: []byte("<!DOCTYPE html>\n<title>Tandem</title>\n<p>This page is served by a peer.\n"), Mode: 0o644}
}

func (at place) file(name string, mode fs.FileMode, lines ...string) File {
	return File{Path: at.own + "/" + name, Content: []byte(strings.Join(lines, "\n") + "\n"), Mode: mode}
}

// withHome gives root a home directory in the scratch directory, for SSH servers. All peers
// of a group see the same.
func withHome(g Group) Group {
	const home = Scratch + "/root"
	g.Binds["/root"] = home
	g.Files = append(g.Files, File{Path: home + "/"})
	return g
}

// certified are a certificate and its key.
func (at place) certified() []File {
	return []File{
		{Path: at.own + "/certificate.pem", Content: certificate, Mode: 0o644},
		{Path: at.own + "/certificate.key", Content: certificateKey, Mode: 0o600},
	}
}

// Apache refuses to serve as root. -X: one process, in the foreground.
func apacheWith(at place, settings ...string) Group {
	modules := "LoadModule %s_module /usr/lib/apache2/modules/mod_%s.so"
	var lines []string
	for _, m := range []string{"mpm_event", "authz_core", "dir", "mime"} {
		lines = append(lines, strings.ReplaceAll(modules, "%s", m))
	}
	lines = append(lines,
		"ServerRoot "+at.own,
		"ServerName localhost",
		"AcceptFilter http none",
		"AcceptFilter https none",
		"Listen 127.0.0.1:"+at.port,
		"PidFile "+at.own+"/pid",
		"ErrorLog /dev/stderr",
		"TypesConfig /dev/null",
		"AddType text/html .html",
		"AddType text/plain .txt",
		"DocumentRoot "+at.own+"/www",
		"Timeout 2592000",
		"KeepAliveTimeout 2592000",
		"MaxKeepAliveRequests 0",
		"ThreadsPerChild 4")
	return one(
		Peer{User: "www-data", Choices: 1, VirtualClock: true, Command: []string{"apache2", "-X", "-f", at.own + "/apache.conf"}},
		at.file("apache.conf", 0o644, append(lines, settings...)...),
		at.pages())
}

func apache(at place) Group { return apacheWith(at) }

func apacheTLS(at place) Group {
	g := apacheWith(at,
		"LoadModule ssl_module /usr/lib/apache2/modules/mod_ssl.so",
		"SSLEngine on",
		"SSLSessionCache none",
		"SSLCertificateFile "+at.own+"/certificate.pem",
		"SSLCertificateKeyFile "+at.own+"/certificate.key")
	g.Files = append(g.Files, at.certified()...)
	return g
}

// -F: in the foreground; -E: log to standard error.
func dropbearForking(at place) Group {
	return withHome(one(
		Peer{Command: []string{"dropbear", "-F", "-E", "-r", at.own + "/host_key", "-P", at.own + "/pid", "-p", "127.0.0.1:" + at.port}},
		File{Path: at.own + "/host_key", Content: dropbearHostKey, Mode: 0o600}))
}

// -i: in the foreground; -R 0: as many connections per minute as come.
func dropbearInetd(at place) Group {
	return withHome(one(
		Peer{Command: []string{"inetd", "-i", "-R", "0", at.own + "/inetd.conf"}},
		at.file("inetd.conf", 0o644, "127.0.0.1:"+at.port+" stream tcp nowait root /usr/sbin/dropbear dropbear -i -r "+at.own+"/host_key"),
		File{Path: at.own + "/host_key", Content: dropbearHostKey, Mode: 0o600}))
}

func goServer(at place) Group {
	return one(
		Peer{Command: []string{at.own + "/program"}, Directory: at.own + "/files", Env: []string{"PORT=" + at.port, "GOMAXPROCS=1"}},
		File{Path: at.own + "/program", Content: at.program, Mode: 0o755},
		File{Path: at.own + "/files/"})
}

func lighttpd(at place) Group {
	return one(
		Peer{Command: []string{"lighttpd", "-D", "-f", at.own + "/lighttpd.conf"}},
		at.file("lighttpd.conf", 0o644,
			`server.bind = "127.0.0.1"`,
			`server.port = `+at.port,
			`server.document-root = "`+at.own+`/www"`,
			`server.upload-dirs = ("`+at.own+`")`,
			`server.pid-file = "`+at.own+`/pid"`,
			`index-file.names = ("index.html")`,
			`mimetype.assign = (".html" => "text/html", ".txt" => "text/plain", "" => "application/octet-stream")`,
			`server.max-keep-alive-idle = 30000`,
			`server.max-keep-alive-requests = 30000`,
			`server.max-read-idle = 30000`,
			`server.max-write-idle = 30000`),
		at.pages())
}

// -U 0: no UDP; the threads that tidy up in the background are off, since they wake up by
// themselves.
func memcached(at place) Group {
	return one(Peer{Command: []string{"memcached", "-u", "root", "-l", "127.0.0.1", "-p", at.port, "-U", "0", "-t", "1", "-m", "16",
		"-o", "no_lru_crawler,no_lru_maintainer,no_slab_reassign,no_hashexpand"}})
}

// Merecat and thttpd close a connection on which nothing has come for some seconds by the
// wall clock, which a restore does not turn back, so they get a clock of their own.
func merecat(at place) Group {
	return one(
		Peer{Choices: 1, VirtualClock: true, Command: []string{"merecat", "-n", "-f", at.own + "/merecat.conf", "-P", at.own + "/pid", "-p", at.port, at.own + "/www"}},
		at.file("merecat.conf", 0o644, "username = root", "chroot = false", "hostname = 127.0.0.1"),
		at.pages())
}

// -D: in the foreground.
func miniHTTPD(at place) Group {
	return one(
		Peer{Command: []string{"mini_httpd", "-D", "-u", "root", "-h", "127.0.0.1", "-p", at.port, "-d", at.own + "/www", "-i", at.own + "/pid"}},
		at.pages())
}

func mosquitto(at place) Group {
	return one(
		Peer{Command: []string{"mosquitto", "-c", at.own + "/mosquitto.conf"}},
		at.file("mosquitto.conf", 0o644,
			"listener "+at.port+" 127.0.0.1",
			"user root",
			"allow_anonymous true",
			"persistence false",
			"sys_interval 0",
			"log_dest stderr",
			"log_timestamp false"))
}

func nginx(at place) Group { return nginxWith(at, Peer{}, at.port) }

func nginxTLS(at place) Group {
	g := nginxWith(at, Peer{Choices: 1, VirtualClock: true}, at.port+" ssl",
		"    ssl_certificate "+at.own+"/certificate.pem;",
		"    ssl_certificate_key "+at.own+"/certificate.key;")
	g.Files = append(g.Files, at.certified()...)
	return g
}

func nginxWith(at place, peer Peer, listen string, settings ...string) Group {
	peer.Command = []string{"nginx", "-e", "stderr", "-p", at.own, "-c", at.own + "/nginx.conf"}
	lines := []string{
		"user root;",
		"daemon off;",
		"master_process off;",
		"worker_processes 1;",
		"error_log stderr;",
		"pid pid;",
		"events { worker_connections 64; }",
		"http {",
		"  access_log off;",
		"  types { text/html html; text/plain txt; }",
		"  client_body_temp_path body;",
		"  proxy_temp_path proxy;",
		"  fastcgi_temp_path fastcgi;",
		"  uwsgi_temp_path uwsgi;",
		"  scgi_temp_path scgi;",
		"  keepalive_timeout 30d;",
		"  keepalive_requests 1000000;",
		"  client_header_timeout 20d;",
		"  client_body_timeout 20d;",
		"  send_timeout 20d;",
		"  server {",
		"    listen 127.0.0.1:" + listen + ";",
	}
	lines = append(append(lines, settings...),
		"    root www;",
		"  }",
		"}")
	return one(peer, at.file("nginx.conf", 0o644, lines...), at.pages())
}

// PYTHONHASHSEED: sets are in the same order in every run.
func python(at place) Group {
	peer := Peer{
		Command: []string{"python3", "-m", "http.server", "--bind", "127.0.0.1", "--directory", at.own + "/www", at.port},
		Env:     []string{"PYTHONHASHSEED=0", "PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1", "PORT=" + at.port},
	}
	if at.program == nil {
		return one(peer, at.pages())
	}
	peer.Command = []string{"python3", at.own + "/program.py"}
	return one(peer, File{Path: at.own + "/program.py", Content: at.program, Mode: 0o644}, at.pages())
}

// hz is how often redis wakes up in a second, to expire keys among other things.
func redis(at place) Group {
	return one(
		Peer{Command: []string{"redis-server", at.own + "/redis.conf"}},
		at.file("redis.conf", 0o644,
			"bind 127.0.0.1",
			"port "+at.port,
			"daemonize no",
			"dir "+at.own,
			`save ""`,
			"appendonly no",
			"hz 1",
			"dynamic-hz no",
			"activerehashing no",
			"jemalloc-bg-thread no",
			"set-proc-title no",
			"timeout 0",
			"tcp-keepalive 0",
			"loglevel notice"))
}

// sshd insists on a user sshd for the process that talks before there is a log-in, and on
// an empty directory for it. Root plays that part in the group: CRIU cannot save processes
// of other users where CAP_SYS_RESOURCE is missing. -D: in the foreground; -e: log to
// standard error.
func sshd(at place) Group {
	g := withHome(one(
		Peer{Command: []string{"sh", "-c", `mkdir -p -m 755 /run/sshd && exec "$@"`, "sh", "/usr/sbin/sshd", "-D", "-e", "-f", at.own + "/sshd_config"}},
		at.file("sshd_config", 0o600,
			"ListenAddress 127.0.0.1:"+at.port,
			"HostKey "+at.own+"/host_key",
			"PidFile "+at.own+"/pid",
			"LoginGraceTime 0",
			"StrictModes no",
			"UsePAM no",
			"UseDNS no",
			"PermitRootLogin yes",
			"PrintLastLog no",
			"Subsystem sftp internal-sftp"),
		at.file("passwd", 0o644,
			"root:x:0:0:root:/root:/bin/sh",
			"sshd:x:0:0:sshd:/run/sshd:/usr/sbin/nologin"),
		File{Path: at.own + "/host_key", Content: hostKey, Mode: 0o600}))
	g.Binds["/etc/passwd"] = at.own + "/passwd"
	return g
}

// vsftpd has a process for each connection, all as root, and makes its data connections from any port. Whoever
// is anonymous could write nothing, so anonymous is a user of the machine, whom PAM lets in. It wants a
// directory that nobody can write to, as are those of the machine.
func vsftpd(at place) Group {
	g := one(
		Peer{Choices: 1, VirtualClock: true, Command: []string{"vsftpd", at.own + "/vsftpd.conf"}},
		at.file("vsftpd.conf", 0o600,
			"listen=YES",
			"background=NO",
			"listen_address=127.0.0.1",
			"listen_port="+at.port,
			"anonymous_enable=NO",
			"local_enable=YES",
			"chroot_local_user=YES",
			"allow_writeable_chroot=YES",
			"write_enable=YES",
			"local_umask=022",
			"secure_chroot_dir=/srv",
			"nopriv_user=root",
			"guest_username=root",
			"ftp_username=root",
			"session_support=NO",
			"seccomp_sandbox=NO",
			"isolate=NO",
			"isolate_network=NO",
			"connect_from_port_20=NO",
			"xferlog_enable=NO",
			"idle_session_timeout=0",
			"data_connection_timeout=0"),
		at.file("passwd", 0o644,
			"root:x:0:0:root:/root:/bin/sh",
			"anonymous:x:0:0::"+at.own+"/files:/bin/sh"),
		at.file("pam", 0o644,
			"auth required pam_permit.so",
			"account required pam_permit.so",
			"session required pam_permit.so"),
		File{Path: at.own + "/files/", Content: []byte("This file is served by a peer.\n"), Mode: 0o644})
	g.Binds["/etc/passwd"] = at.own + "/passwd"
	g.Binds["/etc/pam.d/vsftpd"] = at.own + "/pam"
	return g
}

// -D: in the foreground.
func thttpd(at place) Group {
	return one(
		Peer{Choices: 1, VirtualClock: true, Command: []string{"thttpd", "-D", "-C", at.own + "/thttpd.conf"}},
		at.file("thttpd.conf", 0o644,
			"host=127.0.0.1",
			"port="+at.port,
			"dir="+at.own+"/www",
			"user=root",
			"nochroot",
			"pidfile="+at.own+"/pid",
			"logfile=/dev/null"),
		at.pages())
}
