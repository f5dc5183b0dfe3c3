package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tandem-mc/tandem/doctor"
)

// doctorCommand is tandem doctor. It fails if anything is lacking, so that scripts can ask it. With
// --fix it installs first and then examines, so that what it prints is true afterwards.
func doctorCommand() *cobra.Command {
	var fix bool
	c := &cobra.Command{
		Use:   "doctor [PROFILE...]",
		Short: "Say what this machine lacks, and how to get it",
		Long: `Looks for everything that a check needs: a supported release of Go, and for peers CRIU and
what the kernel has to offer. It takes a checkpoint and goes back to it. For each profile that
is named, it also looks for the program of that peer; see tandem peers. The result has three
parts. Programs without peers need only the first. Checks with peers need the second. For peers
that start no other programs the third is enough: it takes no CRIU, and no root where the kernel
allows user namespaces.`,
		Example: "  tandem doctor\n" +
			"  tandem doctor redis postgres\n" +
			"  tandem doctor --fix redis",
		RunE: func(c *cobra.Command, profiles []string) error {
			if fix {
				if err := doctor.Fix(c.Context(), profiles, c.ErrOrStderr()); err != nil {
					return err
				}
			}
			// Only now, so that what --fix has installed is found.
			findings, err := doctor.Examine(c.Context(), profiles)
			if err != nil {
				return err
			}
			for i, f := range findings {
				if i == 0 || f.Part != findings[i-1].Part {
					fmt.Fprintln(c.OutOrStdout(), doctor.Summary(findings, f.Part))
				}
				// Marks are of the same width, and are what scripts look for.
				mark := "ok  "
				if !f.OK {
					mark = "LACK"
				}
				fmt.Fprintf(c.OutOrStdout(), "%s %-22s %s\n", mark, f.Name, f.Detail)
				// A finding that is in order has none.
				if f.Fix != "" {
					fmt.Fprintf(c.OutOrStdout(), "     %-22s to do: %s\n", "", f.Fix)
				}
			}
			return doctor.Lacking(findings)
		},
	}
	c.Flags().BoolVar(&fix, "fix", false, "install what can be installed (Debian, as root)")
	return c
}
