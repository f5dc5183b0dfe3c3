package status

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandem-mc/tandem/ckptd"
)

func TestStatusPage(t *testing.T) {
	now := time.Date(2025, 1, 1, 12, 0, 0, 0, time.UTC)
	ago := func(seconds int) time.Time { return now.Add(-time.Duration(seconds) * time.Second) }
	group := ckptd.GroupStatus{
		ID: 1, Peers: []string{"dropbear", "redis"},
		State:   "the peer group is not running:\x1b[2J it was closed",
		Refusal: "peer process 7\nhas started another process",
	}
	for n := range 10 {
		group.Images = append(group.Images, ckptd.ImageStatus{
			ID: "g1-" + string(rune('0'+n)), Parent: strings.Repeat("g1-0", min(n, 1)), Steps: 9 - n,
			Backend: "memory", Bytes: 1 << (3 * n), Taken: ago(100 - n), Uses: n,
		})
	}
	s := ckptd.SharedStatus{PID: 9, Since: ago(7200), Socket: "/run/x", MaxClients: 16}
	s.Clients = []ckptd.Status{
		{
			PID: 11, UID: 0, Since: ago(61), Bytes: 5 << 20, MaxBytes: 1 << 30, MaxImages: 64,
			Resident: 12345678, Descriptors: 17, Groups: []ckptd.GroupStatus{group, {
				ID: 2, Peers: []string{"merecat"}, State: "runs",
				Checkpoints: ckptd.Operations{Count: 4, Took: 10 * time.Millisecond},
				Restores:    ckptd.Operations{Count: 3, Took: 10 * time.Millisecond},
			}},
		},
		{PID: 12, UID: 1000, Since: ago(0)},
	}
	const client = "client 11 of user 0, for 1m1s: 5.0 MiB of 1.0 GiB in 10 of 64 images; " +
		"its daemon takes 11.8 MiB and 17 descriptors"
	want := `process 9 listens at /run/x, for 2h0m0s: 2 of 16 clients

` + client + `
  group 1, dropbear, redis: the peer group is not running: [2J it was closed
    checkpoints: 0, mean 0s; restores: 0, mean 0s
    not saved in memory: peer process 7 has started another process
    image  parent  steps  backend  size       age    restored
    g1-2   g1-0    7      memory   64 B       1m38s  2
    g1-3   g1-0    6      memory   512 B      1m37s  3
    g1-4   g1-0    5      memory   4.0 KiB    1m36s  4
    g1-5   g1-0    4      memory   32.0 KiB   1m35s  5
    g1-6   g1-0    3      memory   256.0 KiB  1m34s  6
    g1-7   g1-0    2      memory   2.0 MiB    1m33s  7
    g1-8   g1-0    1      memory   16.0 MiB   1m32s  8
    g1-9   g1-0    0      memory   128.0 MiB  1m31s  9
    and 2 older ones
  group 2, merecat: runs
    checkpoints: 4, mean 2.5ms; restores: 3, mean 3.333ms

client 12 of user 1000, for 0s: 0 B of 0 B in 0 of 0 images; its daemon takes 0 B and 0 descriptors
`
	var out strings.Builder
	if err := Write(&out, s, now); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Error(d)
	}
}
