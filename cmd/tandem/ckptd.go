package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/tandem-mc/tandem/ckptd"
)

func ckptdCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "ckptd",
		Short: "Start, look at and stop a checkpoint daemon that several checks share",
		Long: "A check with peers starts a checkpoint daemon of its own. A shared one serves all checks that are told to use it, with\n" +
			"--ckptd SOCKET: each with a budget of its own, none sees anything of another, and what a check has there ends with it.",
		Args: cobra.NoArgs,
	}
	var socket string
	c.PersistentFlags().StringVar(&socket, "socket", ckptd.DefaultSocket, "where it listens: `path` of a Unix socket")
	c.AddCommand(ckptdStart(&socket), ckptdStatus(&socket), ckptdStop(&socket))
	return c
}

func ckptdStart(socket *string) *cobra.Command {
	var foreground bool
	var log string
	var clients, images int
	var bytes int64
	c := &cobra.Command{
		Use:   "start",
		Short: "Start it, and leave it running",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			self, err := os.Executable()
			if err != nil {
				return err
			}
			d := exec.Command(filepath.Join(filepath.Dir(self), "tandem-ckptd"), "--listen", *socket,
				"--max-clients", strconv.Itoa(clients), "--max-bytes", strconv.FormatInt(bytes, 10), "--max-images", strconv.Itoa(images))
			if foreground {
				return syscall.Exec(d.Path, d.Args, os.Environ())
			}
			return startDetached(c, d, *socket, log)
		},
	}
	c.Flags().BoolVar(&foreground, "foreground", false, "stay in the foreground, and log to standard error")
	c.Flags().StringVar(&log, "log", "", "append what it has to say to `file`")
	c.Flags().IntVar(&clients, "max-clients", ckptd.DefaultMaxClients, "greatest `number` of clients at a time")
	c.Flags().Int64Var(&bytes, "max-bytes", ckptd.DefaultMaxBytes, "greatest number of `bytes` in the images of a client")
	c.Flags().IntVar(&images, "max-images", ckptd.DefaultMaxImages, "greatest `number` of images of a client")
	return c
}

// startDetached starts the daemon and returns when it listens.
func startDetached(c *cobra.Command, d *exec.Cmd, socket, log string) error {
	said, err := openLog(log)
	if err != nil {
		return err
	}
	defer said.Close()
	begin, err := said.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	d.Stderr = said
	d.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := d.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- d.Wait() }()
	const patience, interval = 10 * time.Second, 2 * time.Millisecond
	for deadline := time.Now().Add(patience); ; {
		if status, err := ckptd.AskShared(socket); err == nil && status.PID == d.Process.Pid {
			fmt.Fprintf(c.OutOrStdout(), "process %d listens at %s\n", status.PID, socket)
			return nil
		}
		select {
		case <-ended:
			text, _ := io.ReadAll(io.NewSectionReader(said, begin, 1<<20))
			return errors.New(strings.TrimSpace(string(text)))
		case <-time.After(interval):
		}
		if time.Now().After(deadline) {
			d.Process.Kill()
			return fmt.Errorf("the daemon did not listen at %s within %v, and was stopped", socket, patience)
		}
	}
}

// openLog opens the file, or else one that nobody will see.
func openLog(file string) (*os.File, error) {
	if file != "" {
		return os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	}
	f, err := os.CreateTemp("", "tandem-ckptd-")
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}

func ckptdStop(socket *string) *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:   "stop",
		Short: "Stop it",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return ckptd.StopShared(*socket, force)
		},
	}
	c.Flags().BoolVar(&force, "force", false, "even if it has clients, whose peers end then")
	return c
}

func ckptdStatus(socket *string) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "status",
		Short: "Show its clients, their groups of peers, and the images of these",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := ckptd.AskShared(*socket)
			if err != nil {
				return err
			}
			if asJSON {
				text, err := json.MarshalIndent(s, "", "  ")
				if err == nil {
					_, err = fmt.Fprintf(c.OutOrStdout(), "%s\n", text)
				}
				return err
			}
			return showStatus(c.OutOrStdout(), s, time.Now())
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print all as JSON: times in nanoseconds")
	return c
}

// shownImages is how many images of a group are on the page: the youngest.
const shownImages = 8

func showStatus(out io.Writer, s ckptd.SharedStatus, now time.Time) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "process %d listens at %s, for %s: %d of %d clients\n", s.PID, s.Socket, age(now, s.Since), len(s.Clients), s.MaxClients)
	for _, c := range s.Clients {
		images := 0
		for _, g := range c.Groups {
			images += len(g.Images)
		}
		fmt.Fprintf(w, "\nclient %d of user %d, for %s: %s of %s in %d of %d images; its daemon takes %s and %d descriptors\n",
			c.PID, c.UID, age(now, c.Since), size(c.Bytes), size(c.MaxBytes), images, c.MaxImages, size(c.Resident), c.Descriptors)
		for _, g := range c.Groups {
			showGroup(w, g, now)
		}
	}
	return w.Flush()
}

func showGroup(w io.Writer, g ckptd.GroupStatus, now time.Time) {
	fmt.Fprintf(w, "  group %d, %s: %s\n", g.ID, strings.Join(g.Peers, ", "), printableLine(g.State))
	fmt.Fprintf(w, "    checkpoints: %d, mean %v; restores: %d, mean %v\n",
		g.Checkpoints.Count, g.Checkpoints.Mean().Round(time.Microsecond), g.Restores.Count, g.Restores.Mean().Round(time.Microsecond))
	if g.Refusal != "" {
		fmt.Fprintf(w, "    not saved in memory: %s\n", printableLine(g.Refusal))
	}
	if len(g.Images) == 0 {
		return
	}
	fmt.Fprintln(w, "    image\tparent\tsteps\tbackend\tsize\tage\trestored")
	older := max(0, len(g.Images)-shownImages)
	for _, i := range g.Images[older:] {
		fmt.Fprintf(w, "    %s\t%s\t%d\t%s\t%s\t%s\t%d\n", i.ID, i.Parent, i.Steps, i.Backend, size(i.Bytes), age(now, i.Taken), i.Uses)
	}
	if older > 0 {
		fmt.Fprintf(w, "    and %d older ones\n", older)
	}
}

func age(now, since time.Time) time.Duration { return now.Sub(since).Round(time.Second) }

// size is a number of bytes for people.
func size(bytes int64) string {
	const step = 1 << 10
	value, unit := float64(bytes), "B"
	for _, next := range []string{"KiB", "MiB", "GiB"} {
		if value < step {
			break
		}
		value, unit = value/step, next
	}
	return strconv.FormatFloat(value, 'f', min(1, len(unit)-1), 64) + " " + unit
}

// printableLine keeps what peers may have named from doing harm on a terminal.
func printableLine(text string) string {
	return strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
}
