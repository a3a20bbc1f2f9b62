package keystile_test

import (
	"context"
	"errors"
	"os"
	"testing"

	keystile "github.com/keystile/keystile/clients/go"
)

// service is the address and the root key of the running service that test.sh starts.
func service(t *testing.T) (url, rootKey string) {
	t.Helper()
	url, rootKey = os.Getenv("TEST_KEYSTILE_URL"), os.Getenv("TEST_KEYSTILE_ROOT_KEY")
	if url == "" || rootKey == "" {
		t.Fatal("These tests need a running service. Run ./test.sh, or set TEST_KEYSTILE_URL and TEST_KEYSTILE_ROOT_KEY.")
	}
	return url, rootKey
}

// serviceClient waits long enough for a busy machine.
func serviceClient(t *testing.T) *keystile.Client {
	t.Helper()
	url, rootKey := service(t)
	return newClient(t, keystile.Options{URL: url, RootKey: rootKey, Timeout: longEnough, TotalTimeout: longEnough})
}

func newClient(t *testing.T, options keystile.Options) *keystile.Client {
	t.Helper()
	client, err := keystile.New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return client
}

func newAPI(t *testing.T, client *keystile.Client) string {
	t.Helper()
	api, err := client.CreateAPI(context.Background(), "go client")
	if err != nil {
		t.Fatal(err)
	}
	return api.APIID
}

func newKey(t *testing.T, client *keystile.Client, request keystile.CreateKeyRequest) keystile.CreatedKey {
	t.Helper()
	if request.APIID == "" {
		request.APIID = newAPI(t, client)
	}
	made, err := client.CreateKey(context.Background(), request)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// failureOf is the typed error in err.
func failureOf(t *testing.T, err error) *keystile.Error {
	t.Helper()
	var failure *keystile.Error
	if !errors.As(err, &failure) {
		t.Fatalf("want a *keystile.Error, got %v", err)
	}
	return failure
}
