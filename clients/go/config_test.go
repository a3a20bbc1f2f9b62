package keystile_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	keystile "github.com/keystile/keystile/clients/go"
)

func TestWrongConfigurationIsAnErrorAtConstruction(t *testing.T) {
	t.Setenv("KEYSTILE_URL", "")
	t.Setenv("KEYSTILE_ROOT_KEY", "")
	for url, says := range map[string]string{
		"":                                   "KEYSTILE_URL",
		" , ":                                "KEYSTILE_URL",
		"127.0.0.1:7878":                     "must begin with http://",
		"ftp://user:secretword@host":         "must begin with http://",
		"http://":                            "name a host",
		"http://:7878":                       "name a host",
		"http://user:secretword@127.0.0.1":   "user name or password",
		"http://127.0.0.1:1, secretword":     "must begin with http://",
		"http://127.0.0.1:notaport":          "must begin with http://",
		"secretword_root_key_given_as_a_url": "must begin with http://",
	} {
		_, err := keystile.New(keystile.Options{URL: url})
		got := failureOf(t, err)
		if got.Code != keystile.ErrorConfiguration || !got.IsCertainlyNotDone || !strings.Contains(got.Message, says) {
			t.Errorf("%q: got %v", url, err)
		}
		if strings.Contains(err.Error(), "secretword") {
			t.Errorf("%q: the message contains a secret: %v", url, err)
		}
	}
	_, err := keystile.New(keystile.Options{URL: "http://127.0.0.1:1", RootKey: testRootKey + "\n"})
	if got := failureOf(t, err); got.Code != keystile.ErrorConfiguration || strings.Contains(got.Message, testRootKey) {
		t.Errorf("got %v", err)
	}
}

func TestAddressAndRootKeyComeFromTheEnvironment(t *testing.T) {
	server := script(t, answers(200, validBody))
	t.Setenv("KEYSTILE_URL", server.URL+"/")
	t.Setenv("KEYSTILE_ROOT_KEY", testRootKey)
	client := newClient(t, keystile.Options{Timeout: longEnough, TotalTimeout: longEnough})
	if verdict := verify(t, client, keystile.VerifyOptions{}); !verdict.Valid {
		t.Fatalf("got %+v", verdict)
	}
	if got := server.headers[0].Get("Authorization"); got != "Bearer "+testRootKey {
		t.Fatalf("got %q", got)
	}
}

func TestPrintedClientShowsNoRootKey(t *testing.T) {
	client := clientOf(t, "http://127.0.0.1:1")
	if text := fmt.Sprintf("%v %+v %#v %+v", client, client, client, *client); strings.Contains(text, testRootKey) {
		t.Fatal(text)
	}
}

func TestPathOfACallStaysOnTheHost(t *testing.T) {
	server := script(t, answers(200, `{}`))
	client := clientOf(t, server.URL)
	for _, path := range []string{"", "v1/x", "@elsewhere.example/", ".elsewhere.example/", "0/v1/x"} {
		if got := failureOf(t, client.Call(context.Background(), path, nil, nil)); got.Code != keystile.ErrorConfiguration {
			t.Errorf("%q: got %v", path, got)
		}
	}
	if err := client.Call(context.Background(), "/v1/x", make(chan int), nil); failureOf(t, err).Code != keystile.ErrorConfiguration {
		t.Error(err)
	}
	if len(server.seen()) != 0 {
		t.Fatal("a call was sent")
	}
}
