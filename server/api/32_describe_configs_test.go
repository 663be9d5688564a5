package api

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func describeRequest(kind kmsg.ConfigResourceType, name string, keys ...string) *kmsg.DescribeConfigsRequest {
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Version = 4
	req.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kind, ResourceName: name, ConfigNames: keys}}
	return req
}

// Fault A22.
func TestConfigsAreThoseAskedForWithTheirSources(t *testing.T) {
	b := topicBroker(t, "log.retention.hours=5", "ssl.keystore.password=secret")
	mustCreate(t, b, newTopic("t", 1, 1, "flush.ms", "1000"))
	for version := int16(1); version <= 4; version++ {
		for _, c := range []struct {
			keys []string
			want int // 0: all
		}{{nil, 0}, {[]string{}, 0}, {[]string{"cleanup.policy"}, 1}, {[]string{"no.such", "flush.ms", "retention.ms"}, 2}, {[]string{"no.such"}, -1}} {
			for _, resource := range []struct {
				kind kmsg.ConfigResourceType
				name string
			}{{2, "t"}, {4, "1"}} {
				req := describeRequest(resource.kind, resource.name, c.keys...)
				req.Version, req.IncludeSynonyms = version, true
				req.Resources[0].ConfigNames = c.keys
				got := parsed(t, b.answerDescribeConfigs(req), version).Resources[0]
				if got.ErrorCode != 0 || resource.kind == 2 && c.want != 0 && len(got.Configs) != max(c.want, 0) || c.want == 0 && len(got.Configs) < 30 {
					t.Errorf("version %d, %q of %s: error %d, %d configs", version, c.keys, resource.name, got.ErrorCode, len(got.Configs))
				}
				checkDescribed(t, version, got.Configs)
			}
		}
	}
}

func checkDescribed(t *testing.T, version int16, configs []kmsg.DescribeConfigsResponseResourceConfig) {
	t.Helper()
	for _, c := range configs {
		if c.Source < 1 || c.Source > 8 || version >= 3 && (c.ConfigType < 1 || c.ConfigType > 9) {
			t.Errorf("version %d: %s has source %d and type %d", version, c.Name, c.Source, c.ConfigType)
		}
		if c.IsSensitive && c.Value != nil {
			t.Errorf("the value of %s is shown", c.Name)
		}
		for _, s := range c.ConfigSynonyms {
			if c.IsSensitive && s.Value != nil {
				t.Errorf("the value of %s is shown as %s", c.Name, s.Name)
			}
		}
		switch {
		case c.Name == "flush.ms" && (*c.Value != "1000" || c.Source != 1 || len(c.ConfigSynonyms) < 1):
			t.Errorf("flush.ms is %s from source %d, %d synonyms", *c.Value, c.Source, len(c.ConfigSynonyms))
		case c.Name == "retention.ms" && (*c.Value != "18000000" || c.Documentation != nil):
			t.Errorf("retention.ms is %s", *c.Value)
		}
	}
}

func TestResourcesThatDoNotExistAreRefused(t *testing.T) {
	b := topicBroker(t)
	for _, c := range []struct {
		kind kmsg.ConfigResourceType
		name string
		want int16
	}{
		{2, "none", 3}, {2, "", 17}, {2, "../x", 17}, {4, "x", 42}, {4, "4711", 42}, {4, "1", 0}, {4, "01", 0}, {4, "", 0},
		{8, "1", 0}, {8, "", 42}, {8, "x", 42}, {8, "2", 42}, {16, "new", 0}, {16, "", 42}, {32, "new", 0}, {32, "", 42},
		{0, "x", 42}, {1, "x", 42}, {99, "x", 42}, {-1, "x", 42},
	} {
		got := b.answerDescribeConfigs(describeRequest(c.kind, c.name)).Resources[0]
		if got.ErrorCode != c.want || got.ResourceName != c.name || got.ResourceType != c.kind || (len(got.Configs) != 0) != (c.want == 0) {
			t.Errorf("type %d, %q: error %d, %d configs, want error %d", c.kind, c.name, got.ErrorCode, len(got.Configs), c.want)
		}
	}
}

func TestDocumentationAndSynonymsComeOnlyWhereAskedFor(t *testing.T) {
	b := topicBroker(t)
	mustCreate(t, b, newTopic("t", 1, 1))
	for _, asked := range []bool{false, true} {
		req := describeRequest(2, "t", "segment.bytes")
		req.IncludeDocumentation, req.IncludeSynonyms = asked, asked
		got := b.answerDescribeConfigs(req).Resources[0].Configs[0]
		if (got.Documentation != nil) != asked || (len(got.ConfigSynonyms) > 0) != asked {
			t.Errorf("asked %v: %+v", asked, got)
		}
	}
}

func TestClusterDefaultIsFixedAtTheFirstStart(t *testing.T) {
	b := topicBroker(t, "min.insync.replicas=2")
	got := b.answerDescribeConfigs(describeRequest(4, "")).Resources[0].Configs
	if len(got) != 1 || got[0].Name != "min.insync.replicas" || *got[0].Value != "2" || got[0].Source != 3 {
		t.Errorf("%+v", got)
	}
	if got := ClusterDefaults(b.Metadata.Image(), nil); got != nil {
		t.Errorf("a second start changes %v", got)
	}
}

func TestAnAnswerDoesNotGrowWithoutBound(t *testing.T) {
	b := topicBroker(t)
	mustCreate(t, b, newTopic("t", 1, 1))
	req := describeRequest(2, "t")
	one := len(b.answerDescribeConfigs(req).Resources[0].Configs)
	req.Resources = slices.Repeat(req.Resources, 10)
	resp := b.view(b.Metadata.Image()).describeAll(req, nil, 3*one+1)
	for i, r := range resp.Resources {
		if (r.ErrorCode == 44) != (i > 3) || (len(r.Configs) == one) != (i <= 3) {
			t.Errorf("resource %d: error %d, %d configs", i, r.ErrorCode, len(r.Configs))
		}
	}
}
