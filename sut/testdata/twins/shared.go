package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"errors"
	"expvar"
	"fmt"
	htmltemplate "html/template"
	"io"
	"iter"
	"log"
	"log/slog"
	"math/big"
	"math/rand"
	randv2 "math/rand/v2"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/signal"
	"reflect"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"text/template"
	"time"
	"unique"
	"weak"
)

type point struct {
	X     int      `xml:"x" json:"x"`
	Next  *point   `xml:"next" json:"next,omitempty"`
	Names []string `xml:"names" json:"names"`
}

// each makes a thing of what every use does anew.
func each(f func()) func() func() { return func() func() { return f } }

func init() {
	for name, thing := range map[string]func() func(){
		"json.Marshal": each(func() { must(json.Marshal(&point{X: 1})) }),
		"json.Unmarshal": each(func() {
			var p point
			check(json.Unmarshal([]byte(`{"x":1,"next":{"x":2}}`), &p))
		}),
		"json map":    each(func() { var v any; check(json.Unmarshal([]byte(`{"a":[1,{"b":null}]}`), &v)) }),
		"json error":  each(func() { var p point; json.Unmarshal([]byte(`{"x":"1"}`), &p) }),
		"xml.Marshal": each(func() { must(xml.Marshal(&point{X: 1})) }),
		"xml.Unmarshal": each(func() {
			var p point
			check(xml.Unmarshal([]byte("<point><x>1</x></point>"), &p))
		}),
		"gob":              each(gobRoundTrip),
		"gob.Encoder":      func() func() { e := gob.NewEncoder(io.Discard); return func() { check(e.Encode(1)) } },
		"reflect types":    each(reflectTypes),
		"reflect.Method":   each(func() { reflect.ValueOf(&strings.Builder{}).MethodByName("Len").Call(nil) }),
		"reflect.MakeFunc": each(makeFunc),
		"regexp": func() func() {
			r := regexp.MustCompile(`(a+)(b*)`)
			return func() { r.FindAllString("aabab", -1) }
		},
		"regexp backtrack": func() func() {
			r := regexp.MustCompile(`^(a|b)*c$`)
			return func() { r.MatchString("ababc") }
		},
		"regexp.Compile": each(func() { regexp.MustCompile(`[[:alpha:]]+`).ReplaceAllString("a1", "b") }),
		"text/template":  textTemplate,
		"html/template":  htmlTemplate,
		"http.ServeMux":  serveMux,
		"http.Client":    httpClient,
		"http.Header":    each(func() { http.Header{}.Set("content-type", mime.TypeByExtension(".html")) }),
		"tls":            tlsConnection,
		"x509.CertPool":  func() func() { p := x509.NewCertPool(); return func() { p.Clone().Equal(p) } },
		"ecdsa":          signing,
		"sha256":         each(func() { sha256.Sum256([]byte("x")) }),
	} {
		shared[name] = thing
	}
}

// Of logging, and of what keeps things for others.
func init() {
	for name, thing := range map[string]func() func(){
		"slog": func() func() {
			l := slog.New(slog.NewTextHandler(io.Discard, nil))
			return func() { l.With("a", 1).Info("b", "c", 2) }
		},
		"slog JSON": func() func() {
			l := slog.New(slog.NewJSONHandler(new(bytes.Buffer), nil))
			return func() { l.Info("b", "c", point{}) }
		},
		"slog.LevelVar": func() func() { var v slog.LevelVar; return func() { v.Set(slog.LevelWarn); v.Level() } },
		"log.Logger": func() func() {
			l := log.New(new(bytes.Buffer), "x", log.Lshortfile)
			return func() { l.SetPrefix("y"); l.Print("z") }
		},
		"expvar.Map": func() func() {
			m := new(expvar.Map).Init()
			return func() { m.Add("a", 1); _ = m.String() }
		},
		"sync.Pool": syncPool,
		"sync.Map": func() func() {
			var m sync.Map
			return func() { m.Swap("a", 1); m.Range(func(k, v any) bool { return true }); m.Clear() }
		},
		"sync.OnceValues": func() func() {
			f := sync.OnceValues(func() (int, error) { return 1, nil })
			return func() { must(f()) }
		},
		"cached map": cachedMap,
		"context":    contexts,
		"context values": func() func() {
			c := context.WithValue(context.Background(), "k", &point{X: 1})
			return func() { _ = c.Value("k").(*point).X }
		},
	} {
		shared[name] = thing
	}
}

// Of time, of the system, and of values.
func init() {
	for name, thing := range map[string]func() func(){
		"time.Ticker": func() func() {
			t := time.NewTicker(time.Millisecond)
			return func() { t.Reset(time.Second); t.Stop() }
		},
		"time zones": each(func() { _ = time.Unix(0, 0).Local().String() }),
		"os/signal": each(func() {
			c := make(chan os.Signal, 1)
			signal.Notify(c, syscall.SIGUSR1)
			signal.Stop(c)
		}),
		"os environment": each(func() { os.Setenv("TWINS", "1"); _ = os.Getenv("TWINS"); _ = os.Environ() }),
		"os.File": func() func() {
			f := must(os.Open(os.DevNull))
			return func() { f.ReadAt(make([]byte, 4), 0) }
		},
		"unique":        each(func() { _ = unique.Make("a" + strconv.Itoa(1)).Value() }),
		"unique struct": each(func() { unique.Make(struct{ a, b string }{"a", "b"}) }),
		"weak": func() func() {
			x := &point{X: 1}
			w := weak.Make(x)
			return func() { _ = w.Value().X; runtime.KeepAlive(x) }
		},
		"iter.Pull": each(pulling),
		"rand":      each(func() { rand.Int(); randv2.Int() }),
		"big.Int": func() func() {
			x := big.NewInt(1 << 60)
			return func() { _ = new(big.Int).Mul(x, x).String() }
		},
		"base64": each(func() { base64.StdEncoding.EncodeToString([]byte("x")) }),
		"url": func() func() {
			u := must(url.Parse("http://x/y?z=1"))
			return func() { _ = u.Query().Encode(); _ = u.String() }
		},
		"strings.Replacer": func() func() {
			r := strings.NewReplacer("a", "b", "cc", "d")
			return func() { r.Replace("acc") }
		},
		"fmt": each(func() { _ = fmt.Sprintf("%v %+v", point{}, &point{}) }),
		"errors": func() func() {
			e := fmt.Errorf("x: %w", io.EOF)
			return func() { errors.Is(e, io.EOF); _ = e.Error() }
		},
		"sql":                database,
		"runtime.AddCleanup": each(func() { runtime.AddCleanup(&point{}, func(int) {}, 1) }),
	} {
		shared[name] = thing
	}
}

func gobRoundTrip() {
	var b bytes.Buffer
	check(gob.NewEncoder(&b).Encode(&point{X: 1}))
	var p point
	check(gob.NewDecoder(&b).Decode(&p))
}

func reflectTypes() {
	t := reflect.TypeFor[point]()
	_ = reflect.MapOf(reflect.TypeFor[string](), t).String()
	reflect.StructOf([]reflect.StructField{{Name: "A", Type: t}})
	_ = reflect.FuncOf([]reflect.Type{t}, nil, false).String()
	reflect.New(reflect.ArrayOf(3, t)).Elem().Index(1).Field(0).SetInt(2)
}

func makeFunc() {
	same := func(in []reflect.Value) []reflect.Value { return in }
	f := reflect.MakeFunc(reflect.TypeFor[func(int) int](), same)
	if f.Interface().(func(int) int)(3) != 3 {
		panic("f")
	}
}

func textTemplate() func() {
	const text = `{{define "b"}}{{.X}}{{end}}{{range .Names}}{{.}}{{end}}{{template "b" .}}`
	t := template.Must(template.New("a").Parse(text))
	return func() { check(t.Execute(io.Discard, &point{X: 1, Names: []string{"n"}})) }
}

func htmlTemplate() func() { // the first that executes it escapes it
	t := htmltemplate.Must(htmltemplate.New("a").Parse(`<a href="{{.X}}">{{.Names}}</a>`))
	return func() { check(t.Execute(io.Discard, &point{X: 1})) }
}

func serveMux() func() {
	m := http.NewServeMux()
	m.HandleFunc("GET /a/{b}", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.PathValue("b"))
	})
	return func() { m.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/a/x", nil)) }
}

func httpClient() func() {
	var served atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, served.Add(1))
	}))
	return func() {
		r := must(s.Client().Get(s.URL))
		must(io.ReadAll(r.Body))
		r.Body.Close()
	}
}

func tlsConnection() func() {
	cert := httptest.NewUnstartedServer(nil)
	cert.StartTLS()
	config, roots := cert.TLS.Clone(), cert.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	cert.Close()
	l := must(tls.Listen("tcp", "127.0.0.1:0", config))
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { io.Copy(c, c); c.Close() }()
		}
	}()
	cache := tls.NewLRUClientSessionCache(4)
	client := &tls.Config{RootCAs: roots, ServerName: "example.com", ClientSessionCache: cache}
	return func() {
		c := must(tls.Dial("tcp", l.Addr().String(), client))
		io.WriteString(c, "x")
		must(io.ReadFull(c, make([]byte, 1)))
		c.Close()
	}
}

func signing() func() {
	key := must(ecdsa.GenerateKey(elliptic.P256(), constant{}))
	sum := sha256.Sum256([]byte("x"))
	return func() {
		s := must(ecdsa.SignASN1(constant{}, key, sum[:]))
		if !ecdsa.VerifyASN1(&key.PublicKey, sum[:], s) {
			panic("signature")
		}
	}
}

type constant struct{}

func (constant) Read(p []byte) (int, error) { return len(p), nil }

func syncPool() func() {
	p := sync.Pool{New: func() any { return new(bytes.Buffer) }}
	return func() {
		b := p.Get().(*bytes.Buffer)
		b.Reset()
		b.WriteString("x")
		p.Put(b)
	}
}

func cachedMap() func() {
	var cache sync.Map
	return func() {
		v, ok := cache.Load("k")
		if !ok {
			v, _ = cache.LoadOrStore("k", &point{X: 7})
		}
		if v.(*point).X != 7 {
			panic("X")
		}
	}
}

func contexts() func() {
	parent, cancel := context.WithCancelCause(context.Background())
	return func() {
		c, stop := context.WithTimeout(parent, time.Hour)
		defer stop()
		cancel(io.EOF)
		<-c.Done()
		_ = context.Cause(c)
	}
}

func pulling() {
	next, stop := iter.Pull(func(yield func(int) bool) { _ = yield(1) && yield(2) })
	defer stop()
	next()
}
