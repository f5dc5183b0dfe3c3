package ckptd

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"regexp"
	"strings"
)

// Dialogues with servers of databases, names, mail and messages: see profileDialogues.

// lines are lines as protocols of the Internet end them.
func lines(all ...string) string { return strings.Join(all, "\r\n") + "\r\n" }

// question asks for the address of a name, in a DNS message over TCP (RFC 1035, section 4).
func question(id byte, name string) string {
	message := "\x00" + string(id) + "\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"
	for label := range strings.SplitSeq(name, ".") {
		message += string(rune(len(label))) + label
	}
	return field(message + "\x00\x00\x01\x00\x01")
}

var dnsDialogue = []step{
	{1, question(1, "a.example.test"), "\x0a\x00\x00\x01"},
	{2, question(2, "b.example.test")[:9], ""},
	{1, question(3, "c.example.test"), "example"},
	{2, question(2, "b.example.test")[9:], "\x0a\x00\x00\x02"},
}

// ber is an element of an LDAP message (RFC 4511), of up to 127 bytes.
func ber(tag byte, parts ...string) string {
	content := strings.Join(parts, "")
	return string([]byte{tag, byte(len(content))}) + content
}

const base = "dc=example,dc=test"

func bind(id, name, password string) string {
	return ber(0x30, ber(2, id), ber(0x60, ber(2, "\x03"), ber(4, name), ber(0x80, password)))
}

// lookUp reads one entry, whole.
func lookUp(id, name string) string {
	return ber(0x30, ber(2, id), ber(0x63, ber(4, name), ber(10, "\x00"), ber(10, "\x00"), ber(2, "\x00"),
		ber(2, "\x00"), ber(1, "\x00"), ber(0x87, "objectClass"), ber(0x30)))
}

// redescribe replaces the description of an entry.
func redescribe(id, name, text string) string {
	return ber(0x30, ber(2, id), ber(0x66, ber(4, name),
		ber(0x30, ber(0x30, ber(10, "\x02"), ber(0x30, ber(4, "description"), ber(0x31, ber(4, text)))))))
}

var ldapDialogue = []step{
	{1, bind("\x01", "cn=admin,"+base, "admin"), ber(0x30, ber(2, "\x01"),
		ber(0x61, ber(10, "\x00"), ber(4), ber(4)))},
	{2, bind("\x01", "", ""), ber(0x61, ber(10, "\x00"), ber(4), ber(4))},
	{1, redescribe("\x02", base, "one"), ber(0x67, ber(10, "\x00"), ber(4), ber(4))},
	{2, lookUp("\x02", base), "one"},
	{1, redescribe("\x03", base, "two"), ber(0x67, ber(10, "\x00"), ber(4), ber(4))},
	{2, lookUp("\x03", base), "two"},
}

var natsDialogue = []step{
	{1, lines(`CONNECT {"verbose":false}`, "SUB news.* 1", "PING"), "PONG\r\n"},
	{2, lines(`CONNECT {"verbose":false}`)[:12], "INFO {"},
	{2, lines(`CONNECT {"verbose":false}`)[12:] + "PUB news.local 5\r\nhe", ""},
	{2, "llo\r\n", "MSG news.local 1 5\r\nhello\r\n"},
	{1, lines("UNSUB 1", "PING"), "PONG\r\n"},
}

var ftpDialogue = []step{
	{1, lines("USER anonymous"), "331"},
	{2, lines("USER anonymous"), "331"},
	{1, lines("PASS x"), "230"},
	{2, "PASS", ""},
	{1, lines("SIZE index.html"), "213 31"},
	{2, lines(" x"), "230"},
	{1, lines("DELE index.html"), "250"},
	{2, lines("SIZE index.html"), "550"},
}

var smtpDialogue = []step{
	{1, lines("EHLO test"), "250 HELP"},
	{2, lines("EHLO test"), "250 HELP"},
	{1, lines("MAIL FROM:<anne@example.test>"), "250"},
	{2, lines("MAIL FROM:<>"), "250"},
	{1, lines("RCPT TO:<bob@example.test>"), "250"},
	{1, lines("DATA"), "354"},
	{1, lines("Subject: hello", "", "Text", "."), "250"},
	{2, lines("QUIT"), "221"},
}

var imapDialogue = []step{
	{1, lines("a LOGIN anne secret"), "a OK"},
	{2, lines("a LOGIN anne secret"), "a OK"},
	{1, lines("b SELECT INBOX"), "0 EXISTS"},
	{1, lines("c APPEND INBOX {4}"), "+ OK"},
	{1, lines("Text"), "1 EXISTS"},
	{2, lines("b EXAMINE INBOX"), "1 EXISTS"},
}

// mysqlPacket is a packet of the protocol of MySQL.
func mysqlPacket(number byte, payload string) string {
	return string([]byte{byte(len(payload)), 0, 0, number}) + payload
}

// mysqlLogin answers the greeting, as root without a password, for the database test.
var mysqlLogin = mysqlPacket(1, "\x0d\xa2\x08\x00"+"\x00\x00\x00\x01"+"\x21"+strings.Repeat("\x00",
	23)+"root\x00"+"\x00"+"test\x00"+"mysql_native_password\x00")

func mysqlQuery(text string) string { return mysqlPacket(0, "\x03"+text) }

var mysqlDialogue = []step{
	{1, mysqlLogin, ""},
	{2, mysqlLogin, ""},
	{1, mysqlQuery("create table t(n int) engine=innodb"), "\x00\x00\x00\x02\x00"},
	{1, mysqlQuery("insert into t values(7)"), "\x00\x01\x00"},
	{2, mysqlQuery("select n from t"), "\x017"},
	{1, mysqlQuery("begin"), ""},
	{1, mysqlQuery("update t set n=8"), ""},
	{2, mysqlQuery("select n from t"), "\x017"},
	{1, mysqlQuery("commit"), ""},
	{2, mysqlQuery("select n from t"), "\x018"},
}

// postgresMessage is a message of the protocol of PostgreSQL; the first one has no kind.
func postgresMessage(kind, body string) string {
	return kind + string([]byte{0, 0, 0, byte(4 + len(body))}) + body
}

var postgresStart = postgresMessage("", "\x00\x03\x00\x00user\x00postgres\x00database\x00test\x00\x00")

func postgresQuery(text string) string { return postgresMessage("Q", text+"\x00") }

var postgresDialogue = []step{
	{1, postgresStart, "Z\x00\x00\x00\x05I"},
	{2, postgresStart, "Z\x00\x00\x00\x05I"},
	{1, postgresQuery("create table t(n int)"), "CREATE TABLE"},
	{1, postgresQuery("insert into t values(7)"), "INSERT 0 1"},
	{2, postgresQuery("begin; update t set n=8"), "UPDATE 1"},
	{1, postgresQuery("select n from t"), "7"},
	{2, postgresQuery("commit"), "COMMIT"},
	{1, postgresQuery("select n from t"), "8"},
}

// inJSON is a request to the gateway of etcd.
func inJSON(path, body string) string {
	return lines("POST /v3/kv/"+path+" HTTP/1.1", "Host: x",
		"Content-Length: "+string(rune('0'+len(body)/10))+string(rune('0'+len(body)%10)), "") + body
}

var etcdDialogue = []step{
	{1, inJSON("put", `{"key":"YQ==","value":"MQ=="}`), `"revision":"2"`},
	{2, inJSON("range", `{"key":"YQ=="}`)[:30], ""},
	{1, inJSON("put", `{"key":"YQ==","value":"Mg=="}`), `"revision":"3"`},
	{2, inJSON("range", `{"key":"YQ=="}`)[30:], `"value":"Mg=="`},
}

var amqpDialogue = []step{
	{1, "AMQP\x00\x00\x09\x01", "PLAIN"},
	{2, "AMQP", ""},
	{2, "\x00\x00\x09\x01", "PLAIN"},
}

// helloTLS is the first message of a client of TLS.
var helloTLS = func() string {
	client, server := net.Pipe()
	defer server.Close()
	go func() {
		// of which the first message is wanted
		_ = tls.Client(client, &tls.Config{ServerName: "localhost"}).Handshake()
		client.Close()
	}()
	header := make([]byte, 5)
	if _, err := io.ReadFull(server, header); err != nil {
		panic(err)
	}
	rest := make([]byte, int(header[3])<<8+int(header[4]))
	if _, err := io.ReadFull(server, rest); err != nil {
		panic(err)
	}
	return string(bytes.Join([][]byte{header, rest}, nil))
}()

var tlsDialogue = []step{
	{1, helloTLS, "\x16\x03\x03"},
	{2, helloTLS[:100], ""},
	{2, helloTLS[100:], "\x16\x03\x03"},
}

// httpDate is what etcd says of the time, whose clock is that of the machine.
var httpDate = regexp.MustCompile(`\r\nDate: [^\r]*`)

// Why some groups cannot go back.
const (
	otherUser = "CRIU needs CAP_SYS_RESOURCE for processes of other users than root"
	ownTime   = "it does something of its own accord some time after it was asked, which is another time " +
		"after a restore"

	otherPrograms = "its processes execute other programs, which the memory backend does not hold; and " +
		otherUser
)

var serverDialogues = []profileDialogue{
	{profile: "apache", steps: webKept, notByCRIU: otherUser},
	{profile: "apache-tls", steps: tlsDialogue, notByCRIU: otherUser},
	{profile: "bind", steps: dnsDialogue},
	{profile: "dnsmasq", steps: dnsDialogue},
	{profile: "dovecot", steps: imapDialogue, notBack: otherPrograms},
	{profile: "etcd", steps: etcdDialogue, masked: httpDate, notBack: ownTime, slow: true},
	{profile: "mariadb", steps: mysqlDialogue,
		notBack: "its random numbers are not chosen alone by what it reads"},
	{profile: "nats", steps: natsDialogue, notBack: ownTime},
	{profile: "nginx-tls", steps: tlsDialogue},
	{profile: "opensmtpd", steps: smtpDialogue},
	{profile: "postgres", steps: postgresDialogue, notByCRIU: otherUser},
	{profile: "rabbitmq", steps: amqpDialogue, notBack: ownTime},
	{profile: "slapd", steps: ldapDialogue},
	{profile: "unbound", steps: dnsDialogue},
	{profile: "vsftpd", steps: ftpDialogue},
}
