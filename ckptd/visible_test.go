package ckptd

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"
)

func bytesPointer(b []byte) uintptr { return uintptr(unsafe.Pointer(&b[0])) }
func int32Pointer(n *int32) uintptr { return uintptr(unsafe.Pointer(n)) }

// visible is everything that can be seen of the peers of a group from outside, in words
// that are the same before and after a restore.
func visible(t testing.TB, g *Group) string {
	t.Helper()
	var out strings.Builder
	for _, p := range g.processes {
		pid := hostPID(t, g, p.PID)
		process := fmt.Sprintf("/proc/%d", pid)
		for _, name := range []string{"cwd", "root", "exe"} {
			fmt.Fprintln(&out, name, linkOf(t, process+"/"+name))
		}
		for _, name := range []string{"environ", "cmdline", "limits", "mountinfo", "personality", "oom_score_adj", "timerslack_ns", "coredump_filter", "autogroup", "uid_map", "loginuid"} {
			b, err := os.ReadFile(process + "/" + name)
			if err == nil {
				fmt.Fprintf(&out, "%s %q\n", name, renumbered(string(b)))
			}
		}
		visibleDescriptors(t, &out, process)
		maps := regexp.MustCompile(`(?m)^(\S+ \S+ \S+ \S+ )\d+ +(/run/)`).ReplaceAllString(string(readFile(t, process+"/maps")), "$1- $2")
		fmt.Fprintf(&out, "%s", maps)
		visibleThreads(t, &out, process)
	}
	var sockets []string
	for _, table := range []string{"tcp", "tcp6", "udp", "raw"} {
		for n, line := range strings.Split(string(readFile(t, fmt.Sprintf("/proc/%d/net/%s", g.PID(), table))), "\n") {
			f := strings.Fields(line)
			const timeWait = "06"
			if n > 0 && len(f) > 4 && f[3] != timeWait {
				sockets = append(sockets, fmt.Sprintln("socket", f[1:5]))
			}
		}
	}
	slices.Sort(sockets)
	return out.String() + strings.Join(sockets, "")
}

// renumbered hides the numbers of mounts and sessions, which CRIU does not give back.
func renumbered(text string) string {
	return regexp.MustCompile(`(?m)^\d+ \d+ \S+ |autogroup-\d+|(shared|master|propagate_from):\d+`).ReplaceAllString(text, "")
}

func linkOf(t testing.TB, file string) string {
	t.Helper()
	l, err := os.Readlink(file)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// hostPID is the pid here of a peer with this pid in its group.
func hostPID(t testing.TB, g *Group, inner int) int {
	t.Helper()
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", g.PID()))
	for _, file := range threads {
		for child := range strings.FieldsSeq(string(readFile(t, file))) {
			pid, _ := strconv.Atoi(child)
			if number, err := innerPID(pid); err == nil && number == inner {
				return pid
			}
		}
	}
	t.Fatalf("peer process %d is not there", inner)
	return 0
}

func visibleDescriptors(t testing.TB, out *strings.Builder, process string) {
	t.Helper()
	names := map[string]int{} // of inodes
	entries, err := os.ReadDir(process + "/fd")
	if err != nil {
		t.Fatal(err)
	}
	var numbers []int
	for _, e := range entries {
		n, _ := strconv.Atoi(e.Name())
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		target := linkOf(t, fmt.Sprintf("%s/fd/%d", process, n))
		if strings.HasPrefix(target, "socket:") || strings.HasPrefix(target, "pipe:") {
			if _, ok := names[target]; !ok {
				names[target] = len(names)
			}
			target = fmt.Sprintf("%.6s %d", target, names[target])
		}
		var info []string
		for line := range strings.Lines(string(readFile(t, fmt.Sprintf("%s/fdinfo/%d", process, n)))) {
			line = regexp.MustCompile(`pos:\S+ ino:\S+ sdev:\S+|it_value:.*|\s+`).ReplaceAllString(line, " ")
			if flags, ok := strings.CutPrefix(line, "flags: "); ok {
				n, _ := strconv.ParseInt(strings.TrimSpace(flags), 8, 64)
				const largeFile = 0o100000 // means nothing on this processor, and not all system calls set it
				line = fmt.Sprintf("flags: %#o", n&^largeFile)
			}
			if !regexp.MustCompile(`^(mnt_id|ino|eventfd-id):`).MatchString(line) {
				info = append(info, line)
			}
		}
		slices.Sort(info)
		fmt.Fprintln(out, "descriptor", n, target, info)
	}
}

func visibleThreads(t testing.TB, out *strings.Builder, process string) {
	t.Helper()
	const kept = `^(Name|Umask|State|NSpid|NSpgid|NSsid|Uid|Gid|Groups|FDSize|VmLck|Threads|Sig.*|Shd.*|Cap.*|NoNewPrivs|Seccomp|Cpus_allowed|Mems_allowed_list|CoreDumping|THP_enabled):`
	tasks, err := os.ReadDir(process + "/task")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, task := range tasks {
		var lines []string
		directory := process + "/task/" + task.Name()
		inner := ""
		for line := range strings.Lines(string(readFile(t, directory+"/status"))) {
			if !regexp.MustCompile(kept).MatchString(line) || strings.HasPrefix(line, "FDSize") || strings.HasPrefix(line, "SigQ") {
				continue
			}
			if strings.HasPrefix(line, "NS") {
				f := strings.Fields(line)
				line = f[0] + f[len(f)-1] + "\n"
				if strings.HasPrefix(line, "NSpid") {
					inner = line
				}
			}
			lines = append(lines, strings.TrimSpace(line))
		}
		// The call with its time-out differs: what has waited for a while goes on with a
		// call of its own. The place in the program and the stack do not.
		if f := strings.Fields(string(readFile(t, directory+"/syscall"))); len(f) > 2 {
			lines = append(lines, fmt.Sprintln("in a call at", f[len(f)-1], "stack", f[len(f)-2]))
		}
		for _, line := range lines {
			all = append(all, fmt.Sprintf("thread %s %s", strings.TrimSpace(inner), strings.TrimSpace(line)))
		}
	}
	slices.Sort(all)
	out.WriteString(strings.Join(all, "\n") + "\n")
}

// differences lists lines that only one of two texts has.
func differences(before, after string) (list []string) {
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	for _, line := range a {
		if !slices.Contains(b, line) {
			list = append(list, "- "+line)
		}
	}
	for _, line := range b {
		if !slices.Contains(a, line) {
			list = append(list, "+ "+line)
		}
	}
	return list
}
