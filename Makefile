# make demo       install what is missing (Debian, as root), build, and find the bug in scpto
# make test       install the servers of all profiles too, and run all tests
# make build      bin/tandem and what it starts
# make debugger   bin/tandem-dlv, for tandem debug
# make man        bin/man: the pages of the manual
# make release    bin/release: reproducible archives of a release, VERSION=v0.1.0
# make lint       vet, staticcheck, and the rules of the house
# make house      measures of the code: before it was rebuilt, now, and what is wanted
# make bench      what must not get slower, compared with scripts/bench/kept.txt; ALL=1: everything
# make bench-peers executions in a second of processor time, beside those of Nidhugg and GenMC where
#                 they are installed (scripts/bench/others/install.sh); ROWS=..., ROUNDS=3
# make fuzz       every fuzz target, TIME=1m each
# make versions   the same programs built with all supported releases of Go, which are downloaded
#
# Longer tests:
# make twins      the race detector against the native one, and against a simple twin
# make programs   10,000 random programs: the search against brute force, Go against a model of it
# make scripts    random programs over sockets, timers, files, contexts and maps: the reduction
#                 loses nothing
# make pairs      1,000 generated programs with generated peers, and all examples, in all ways
# make delays     generated programs, with servers that answer late
# make std        the standard library's own tests under control; UPDATE=1 lists anew what passes
# make deep       all cases of the tests of which make test runs a part
# make cases      what was once judged wrongly, TIMES=50 times, beside other load
# make kills      1,000 daemons, proxies, peers and checkers are killed at random: nothing may stay;
#                 200 workers, NATS servers and checks that lead, of searches over executions and over
#                 states each: nothing may be lost
# make roots      a newcomer's way in bare roots of Debian 12 and 13 and Ubuntu 24.04, which
#                 debootstrap makes; ROOTS="trixie", JOURNEYS="demo test" (scripts/roots/roots.sh)
# make container  the image is built and used: the privileges it takes, its services, jobs of CI
# make compose    of that only the services of distributed checks: docs/guide/distributed.md
# make soak       a million executions, 100,000 checkpoints and restores: nothing may grow
#
# Experiments:
# make table2     those of the paper, with the best strategy, beside the paper's own numbers
# make adaptive   strategy adaptive against the others, on each example with peers, five times
# make libraries  clients and servers made with popular libraries, which are downloaded
# make servers    clients of real servers: a table of what is found, and how fast
# make museum     bugs that released libraries have had, found again; RUN=NAME, CHANCE=1m, FIXED=no, UPDATE=1
# make finders    how many executions each search needs to find known bugs; ROWS=..., UPDATE=1
# make online     two systems that run over UDP, whose bugs are found before they happen; RUNS=20, UPDATE=1
# make protocols  searches of protocols beside those of the papers and of SPIN; ROWS=..., ALL=1, UPDATE=1
# make steam      philosophers, 15-puzzle and bakery beside StEAM's numbers; ROWS=..., UPDATE=1
# make external   searches with more states than memory has room for; MODELS=twophase:11 MEMORY=512, REDUCE=1, KILLS=...
# make workers    what 1, 2, 4 and 8 workers of a distributed search cost, each in a network namespace of
#                 its own: of executions, and of states; ARGS='lastzero 16' MODEL=twophase:10 CHECKPOINT=1s
#                 MEMORY=64 has the parts' states in files, REDUCE=1 leaves out orders of steps
# make loss       what it costs to lose a part of a search over states, with checkpoints and without;
#                 MODEL=twophase:10 CHECKPOINT=10s
# make raft       go.etcd.io/raft checked within bounds that take minutes; UPDATE=1
# make clean      remove bin

GO ?= go
EXAMPLES_WITH_PEERS = scpto scpto/fixed twocommands httpget keepalive alphabet alphabet/server \
	download redis library tickets sshd
STRATEGIES = never,after-nd,after-connect,adaptive,after-io,always

# One static binary for each process; some examples are peers of others. They are compiled as a
# release is, so that what is compiled for one is there for the other.
BUILD = CGO_ENABLED=0 $(GO) build -trimpath

.NOTPARALLEL:
.PHONY: all build debugger man release setup demo test std twins programs scripts pairs delays deep bench \
	bench-peers soak fuzz cases kills roots versions table2 adaptive libraries servers museum finders \
	protocols online container compose external steam workers loss raft lint house clean
all: build

# The peers' shim becomes a part of tandem. Without it, tandem builds it when it is first needed
# (peers/shim/shim.go).
peers/shim/src/nd.so: $(wildcard peers/shim/src/*.c)
peers/shim/src/%.so: peers/shim/src/%.c peers/shim/src/build.sh
	cd peers/shim/src && sh build.sh $*

build: peers/shim/src/nd.so peers/shim/src/vdso.so
	$(BUILD) -o bin/tandem ./cmd/tandem
	$(BUILD) -o bin/tandem-ckptd ./cmd/ckptd
	$(BUILD) -o bin/tandem-proxy ./cmd/proxy
	$(BUILD) -o bin/alphabet-server ./examples/alphabet/server
	$(BUILD) -o bin/alphabet-client ./examples/alphabet
	$(BUILD) -o bin/scpto-server ./examples/scpto/server

man: build
	bin/tandem man bin/man/man1

release:
	@GO='$(GO)' scripts/release.sh '$(VERSION)'

# Delve has a module of its own, so that the one of Tandem does not need what it needs.
debugger:
	cd scripts/delve && $(BUILD) -o $(CURDIR)/bin/tandem-dlv github.com/go-delve/delve/cmd/dlv

setup:
	scripts/setup.sh $(PEERS)

# The demo is to find a bug, so tandem is to exit with 1, "violated".
demo: setup build
	@status=0; bin/tandem check ./examples/scpto -c examples/scpto/tandem.yaml \
		-o bin/scpto.counterexample || status=$$?; \
	if [ $$status -ne 1 ]; then \
		echo "demo: tandem should have found the bug and exited with 1; it exited with $$status" >&2; \
		exit 1; \
	fi; \
	echo; echo "demo: that is the counterexample. examples/scpto/fixed is the same program without the bug."

# Tests start real peers, so they need root. Two packages at a time, since most of them wait for
# processes; with three, restores by CRIU stand still for so long that they are given up. What takes
# longest comes first, so that neither ends alone. lint has vetted all.
test: PEERS = all
test: setup build lint
	$(GO) test -p 2 -vet=off -timeout 1h ./check ./ckptd ./cmd/tandem ./sut ./...
	@echo 'LEFT OUT: the container. `make container` builds the image and uses it.'

twins:
	$(GO) test ./sut -run TestTwins -count=1 -v -timeout 60m -every-twin 1 -twins 40
	$(GO) test ./sut -run TestDetectorAgainstReference -count=1 -v -timeout 60m -reference-programs 3000

programs: setup build
	PROGRAMS=10000 $(GO) test ./explore -run TestOptimal -count=1 -v -timeout 1h
	PROGRAMS=10000 $(GO) test ./check -run TestProgramsAgainstTwin -count=1 -v -timeout 2h

scripts: setup build
	$(GO) test ./check -run 'TestSocketScripts|TestThings' -count=1 -timeout 2h \
		-socket-scripts 3000 -thing-scripts 400

pairs: setup build
	PAIRS=1000 EXAMPLES=all $(GO) test ./check -run 'TestPairs|TestExamplesInAllWays' -count=1 -v \
		-timeout 12h -deep

delays: setup build
	$(GO) test ./check -run 'TestDelays$$|TestOrderOfDelays' -count=1 -v -timeout 6h -delays 500

# All cases of the tests of which `make test` runs a part.
DEEP = ./check ./ckptd ./cmd/tandem ./examples/gallery
deep: PEERS = all
deep: setup build
	for release in $(NEWER); do GOTOOLCHAIN=$$release CGO_ENABLED=0 $(GO) vet ./... || exit 1; done
	PROGRAMS=300 $(GO) test $(DEEP) -p 2 -count=1 -timeout 3h -deep
	$(GO) test ./check -run 'TestSocketScripts|TestThings' -count=1 -timeout 1h \
		-socket-scripts 30 -thing-scripts 12
	$(GO) test ./ckptd -run 'TestSoak|TestKillsAtRandom' -count=1 -timeout 1h -soak 2000 -kills 24
	$(GO) test ./explore ./explore/internal/dpor ./explore/internal/trace -count=1 -timeout 1h -rapid.checks 100
	$(GO) test ./check/internal/nodes -count=1 -timeout 2h -systems 150 -schedules 50 -runs 20 -replays 100
	$(GO) test ./protocol -run 'Twin|TestShareKept' -count=1 -timeout 2h -protocols 10000

# Without UPDATE, a test that is listed as passing and does not is an error.
std:
	$(GO) test ./sut -count 1 -timeout 60m -run '^TestStandardLibrary$$' -v -std all $(if $(UPDATE),-update-std)

bench-peers: build
	@$(GO) run ./scripts/bench/others -rows '$(or $(ROWS),.)' -rounds $(or $(ROUNDS),3)

bench: setup build
	$(GO) run ./scripts/bench $(if $(ALL),-all -rounds 1) run
	@[ ! -e scripts/bench/kept.txt ] || $(GO) run ./scripts/bench compare

soak: setup build
	$(GO) test ./sut -run TestMemoryIsFlat -v -timeout 20m -soak 1000000
	$(GO) test ./ckptd -run TestSoak -v -timeout 2h -soak 100000

roots:
	scripts/roots/roots.sh $(if $(CACHE),-c $(CACHE)) $(if $(ROOTS),-r "$(ROOTS)") $(JOURNEYS)

fuzz: build
	$(GO) run ./scripts/fuzz -time $(or $(TIME),1m)

# Programs that Tandem has judged wrongly at some time, each with the right answer.
CASES = atomics datagrams dial families faults leaks library others races refused temporary \
	testerrors timers waiting
cases: PEERS = all
cases: setup build
	scripts/beside-load.sh $(GO) test ./cmd/tandem -run 'TestScripts/($(subst $() $(),|,$(CASES)))$$' \
		-count=$(or $(TIMES),50) -timeout 24h
	scripts/beside-load.sh $(GO) test ./check \
		-run 'Livelocks|TestLockOwners|TestLeaks|TestDelays' -count=$(or $(TIMES),50) -timeout 24h
	scripts/beside-load.sh $(GO) test ./sut -run TestPendingResume -count=$(or $(TIMES),50) -timeout 24h

kills: setup build
	$(GO) test ./ckptd -run TestKillsAtRandom -v -timeout 1h -kills 1000
	$(GO) test ./cmd/tandem -run 'Test(Distributed|Protocol)Kills' -v -timeout 4h -deep

# What make test does with the release in use is done with the others. Tandem itself needs Go 1.26,
# so it is built and vetted with what is newer only.
OTHERS = go1.25.0 go1.27.0
RELEASES = go1.25.0 $(shell $(GO) env GOVERSION) go1.27.0
NEWER = go1.27.0
comma = ,
versions:
	for release in $(NEWER); do \
		GOTOOLCHAIN=$$release CGO_ENABLED=0 $(GO) build ./... || exit 1; done
	$(GO) test ./check -run TestReleasesAgree -v -timeout 20m -releases $(subst $() $(),$(comma),$(RELEASES))
	for release in $(OTHERS); do \
		$(GO) test ./sut -run TestOperations -timeout 20m -release $$release || exit 1; done

table2: setup build
	@$(GO) run ./examples/paper

adaptive: PEERS = all
adaptive: setup build
	@for example in $(EXAMPLES_WITH_PEERS); do \
		bin/tandem compare ./examples/$$example --strategies $(STRATEGIES) \
			--repeat $(or $(REPEAT),5) 2>/dev/null; [ $$? -le 2 ] || exit 1; done

libraries: PEERS = all
libraries: setup build
	cd examples/libraries && $(GO) test -v -count=1 .

servers: PEERS = all
servers: setup build
	cd examples/servers && $(GO) test -v -count=1 -timeout 60m . $(if $(UPDATE),-update)

museum: PEERS = all
museum: setup build
	$(GO) test -c -o bin/bychance.test ./examples/bychance
	cd examples/museum && $(GO) test -v -count=1 -timeout 4h -run 'TestMuseum/$(RUN)' . \
		$(if $(MOST),-most $(MOST)) $(if $(CHANCE),-chance $(CHANCE)) \
		$(if $(filter no,$(FIXED)),-fixed=false) $(if $(UPDATE),-update)

finders: setup build
	$(GO) test ./examples/finders -run '^TestTable$$' -count=1 -v -timeout 2h -rows '$(or $(ROWS),.)' \
		-searches '$(SEARCHES)' -time $(or $(TIME),5s) -csv $(CURDIR)/bin/finders.csv $(if $(UPDATE),-update)

online:
	@$(GO) run ./examples/protocols -online $(or $(RUNS),20) \
		$(if $(UPDATE),-update examples/protocols/README.md)

protocols: PEERS = spin
protocols: setup
	@$(GO) run ./examples/protocols -rows '$(or $(ROWS),.)' -spin 5 $(if $(ALL),-all) \
		$(if $(UPDATE),-update examples/protocols/README.md)

# One row has tandem check explore goroutines.
steam: setup build
	@$(GO) run ./examples/protocols -steam -tandem bin/tandem -rows '$(or $(ROWS),.)' \
		$(if $(UPDATE),-update examples/protocols/README.md)

# More than 10^8 states: MODELS=twophase:11.
external:
	$(GO) test ./protocol -run '^TestExternalKilled$$' -count=1 -timeout 4h -kills $(or $(KILLS),200)
	@$(GO) run ./examples/protocols/external -models '$(or $(MODELS),synod:1,synod:2,twophase:8,twophase:9)' \
		-memory '$(or $(MEMORY),0,512,64)' -workers $(or $(WORKERS),1) $(if $(DIR),-dir $(DIR)) $(if $(REDUCE),-reduce)

workers: setup build
	@scripts/distributed/measure.sh '$(or $(ARGS),lastzero 16)'
	@scripts/distributed/states.sh '$(or $(MODEL),twophase:9)'

loss: build
	@scripts/distributed/loss.sh '$(or $(MODEL),twophase:10)'

# Go only: neither root nor peers are needed.
raft:
	cd examples/protocols/raft && $(GO) test -v -count=1 -timeout 60m . -bounds $(if $(UPDATE),-update)

# What it starts, such as a container engine, it ends. -timeout: base images are made of packages.
container: setup build
	$(GO) test ./scripts/container -count=1 -v -timeout 2h -container

compose: setup build
	$(GO) test ./scripts/container -run '^TestContainer$$/^distributed$$' -count=1 -v -timeout 2h -container

lint:
	$(GO) vet ./...
	$(GO) vet -tags noserver ./distribute
	$(GO) tool staticcheck ./...
	$(GO) test -vet=off -timeout 1h ./lint

house:
	@CGO_ENABLED=0 $(GO) run ./lint/house

clean:
	rm -rf bin peers/shim/src/*.so peers/shim/src/*.map
