package keystile_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	keystile "github.com/keystile/keystile/clients/go"
)

func TestManyCallersShareOneClientAndCreditsAreExact(t *testing.T) {
	client := serviceClient(t)
	made := newKey(t, client, keystile.CreateKeyRequest{Remaining: keystile.Int(50)})
	handler := client.Protect(greeting, keystile.Route{})
	var passed, refused atomic.Int64
	var callers sync.WaitGroup
	for range 16 {
		callers.Add(1)
		go func() {
			defer callers.Done()
			for range 10 {
				switch visit(handler, "Authorization", "Bearer "+made.Key).Code {
				case http.StatusOK:
					passed.Add(1)
				case http.StatusTooManyRequests:
					refused.Add(1)
				}
			}
		}()
	}
	callers.Wait()
	if passed.Load() != 50 || refused.Load() != 110 {
		t.Fatalf("%d passed, %d refused", passed.Load(), refused.Load())
	}
}

func TestNoGoroutineIsLeftBehind(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, handler := range []http.HandlerFunc{answers(200, validBody), answers(502, "x"), hangs, hangsUp, cutsOff} {
		server := httptest.NewServer(handler)
		client, err := keystile.New(keystile.Options{URL: server.URL + "," + server.URL, Timeout: 30 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		var callers sync.WaitGroup
		for range 8 {
			callers.Add(1)
			go func() {
				defer callers.Done()
				ctx, cancel := context.WithTimeout(context.Background(), 60*time.Millisecond)
				defer cancel()
				client.Verify(ctx, testKey, keystile.VerifyOptions{Idempotent: true})
			}()
		}
		callers.Wait()
		client.CloseIdleConnections()
		server.Close()
	}
	// The ends of closed connections are noticed a moment later.
	for deadline := time.Now().Add(longEnough); runtime.NumGoroutine() > before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines before, %d after:\n%s", before, runtime.NumGoroutine(), stacks[:runtime.Stack(stacks, true)])
		}
	}
}
