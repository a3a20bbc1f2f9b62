package keystile

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
)

func warningsOf(t *testing.T, urls ...string) string {
	t.Helper()
	warning = sync.Once{}
	before := slog.Default()
	defer slog.SetDefault(before)
	var written bytes.Buffer
	slog.SetDefault(slog.New(slog.NewTextHandler(&written, nil)))
	for _, url := range urls {
		if _, err := New(Options{URL: url, RootKey: "root_secretsecret"}); err != nil {
			t.Fatal(err)
		}
	}
	return written.String()
}

func TestARootKeyOverPlainHTTPToAnotherMachineIsWarnedOfOnce(t *testing.T) {
	t.Setenv("KEYSTILE_NETWORK", "")
	got := warningsOf(t, "https://keys.example.com, http://keys.internal:7878/base", "http://10.0.0.1")
	if strings.Count(got, "over plain HTTP") != 1 || !strings.Contains(got, "http://keys.internal:7878") || strings.Contains(got, "secretsecret") {
		t.Fatalf("got %q", got)
	}
	t.Setenv("KEYSTILE_NETWORK", "private")
	if got := warningsOf(t, "http://keys.internal"); got != "" {
		t.Fatalf("got %q", got)
	}
}

func TestWhatCrossesNoNetworkInPlainTextIsNotWarnedOf(t *testing.T) {
	t.Setenv("KEYSTILE_NETWORK", "")
	got := warningsOf(t, "https://keys.example.com", "http://localhost:7878", "http://127.0.0.1", "http://127.1.2.3", "http://[::1]:1")
	if got != "" {
		t.Fatalf("got %q", got)
	}
	t.Setenv("KEYSTILE_ROOT_KEY", "")
	warning = sync.Once{}
	if _, err := New(Options{URL: "http://keys.internal"}); err != nil {
		t.Fatal(err)
	}
}
