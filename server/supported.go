package server

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/zurau/zurau/engine/fs"
	"github.com/zurau/zurau/replication/metadata/kraft"
	"github.com/zurau/zurau/server/config"
	"github.com/zurau/zurau/uring"
)

// supported refuses configurations that this version cannot serve as they ask.
func (s *Server) supported() error {
	if d := s.cfg.MetadataDir; d != "" && !slices.Contains(s.cfg.LogDirs, d) && !holdsKafkas(d) {
		return fmt.Errorf("metadata.log.dir: %s, and this version keeps the metadata in a directory of log.dirs: "+
			"expected one of those, or one with the %s of Apache Kafka, to be imported", d, kraft.Folder)
	}
	if !s.cfg.IsBroker || !s.cfg.IsController {
		return fmt.Errorf("process.roles: expected broker,controller: this version is both in one process")
	}
	if len(s.cfg.Voters) > 1 {
		return fmt.Errorf("controller.quorum.voters: %d voters, and this version is a cluster of one", len(s.cfg.Voters))
	}
	for _, v := range s.cfg.Voters {
		if id, _, _ := strings.Cut(v, "@"); id != strconv.Itoa(int(s.cfg.NodeID)) {
			return fmt.Errorf("controller.quorum.voters: %s, and node.id is %d: expected this node as the only voter", v, s.cfg.NodeID)
		}
	}
	if report := uring.Probe(); s.cfg.Engine.Ring == "on" && !report.Allowed() {
		return fmt.Errorf("zurau.ring: on, and this machine has no io_uring:\n%s", report)
	}
	if s.cfg.Authorizer != "" {
		return fmt.Errorf("authorizer.class.name: %s, and this version has no authorizer: everybody may do everything", s.cfg.Authorizer)
	}
	return s.supportedListeners()
}

// holdsKafkas reports whether a directory has metadata of Apache Kafka.
func holdsKafkas(dir string) bool {
	_, err := fs.OS().Stat(filepath.Join(dir, kraft.Folder))
	return err == nil
}

func (s *Server) supportedListeners() error {
	listeners := s.listeners()
	if len(listeners) == 0 {
		return fmt.Errorf("listeners: all are in controller.listener.names, and clients need one")
	}
	for _, l := range listeners {
		if l.Protocol != "PLAINTEXT" {
			return fmt.Errorf("listeners: the security protocol of %s is %s, and this version serves PLAINTEXT alone", l.Name, l.Protocol)
		}
	}
	return nil
}

// listeners are those of clients. Controllers have nobody to talk to in a cluster of one, so theirs are not listened on.
func (s *Server) listeners() (all []config.Listener) {
	for _, l := range s.cfg.Network.Listeners {
		if !slices.ContainsFunc(s.cfg.Network.ControllerListeners, func(name string) bool { return strings.EqualFold(name, l.Name) }) {
			all = append(all, l)
		}
	}
	return all
}
