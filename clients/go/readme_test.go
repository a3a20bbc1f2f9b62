package keystile_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	keystile "github.com/keystile/keystile/clients/go"
)

// fragmentsProgram runs the fragments of the README, each in a function of its own.
const fragmentsProgram = `package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"time"

	keystile "github.com/keystile/keystile/clients/go"
)

var _, _, _ = errors.As, slog.Info, time.Second

func main() {
	client, err := keystile.New(keystile.Options{Timeout: time.Minute, TotalTimeout: time.Minute})
	if err != nil {
		log.Fatal(err)
	}
	for number, run := range []func(context.Context, *keystile.Client, string) error{FUNCTIONS} {
		fmt.Println("fragment", number)
		if err := run(context.Background(), client, os.Getenv("CUSTOMER_KEY")); err != nil {
			log.Fatal(err)
		}
	}
}
`

// readmeCode is the whole program of the README, and its fragments.
func readmeCode(t *testing.T) (program string, fragments []string) {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		if strings.HasPrefix(block[1], "package main") {
			program = block[1]
		} else {
			fragments = append(fragments, block[1])
		}
	}
	return program, fragments
}

// build compiles a program against this checkout, and returns the path of the binary.
func build(t *testing.T, source string) string {
	t.Helper()
	folder, checkout := t.TempDir(), must(filepath.Abs("."))
	module := "module example\n\ngo 1.23\n\nrequire github.com/keystile/keystile/clients/go v0.1.0\n\n" +
		"replace github.com/keystile/keystile/clients/go => " + checkout + "\n"
	for name, text := range map[string]string{"go.mod": module, "main.go": source} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command("go", "build", "-o", "program", ".")
	command.Dir = folder
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return filepath.Join(folder, "program")
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func TestReadmeProgramProtectsARoute(t *testing.T) {
	url, _ := service(t)
	program, _ := readmeCode(t)
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	address := listener.Addr().String()
	listener.Close()
	program = strings.Replace(program, "http://127.0.0.1:7878", url, 1)
	program = strings.Replace(program, "127.0.0.1:8080", address, 1)
	command := exec.Command(build(t, program))
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	}()
	made := newKey(t, serviceClient(t), keystile.CreateKeyRequest{Remaining: keystile.Int(3)})
	for _, each := range []struct {
		key, body string
		status    int
	}{
		{made.Key, "hello " + made.KeyID + "\n", 200},
		{made.Key, `"code":"USAGE_EXCEEDED"`, 429},
		{"", `"code":"NOT_FOUND"`, 401},
	} {
		status, body := get(t, "http://"+address+"/orders", each.key)
		if status != each.status || !strings.Contains(body, each.body) {
			t.Errorf("got %d %s, want %d %s", status, body, each.status, each.body)
		}
	}
	readme := must(os.ReadFile("README.md"))
	if _, body := get(t, "http://"+address+"/orders", ""); !bytes.Contains(readme, []byte(body)) {
		t.Errorf("the README does not show %s", body)
	}
}

// get waits until the program listens.
func get(t *testing.T, url, key string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for {
		request := must(http.NewRequestWithContext(ctx, http.MethodGet, url, nil))
		if key != "" {
			request.Header.Set("Authorization", "Bearer "+key)
		}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			defer response.Body.Close()
			return response.StatusCode, string(must(io.ReadAll(response.Body)))
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestReadmeFragmentsRun(t *testing.T) {
	url, rootKey := service(t)
	_, fragments := readmeCode(t)
	var functions strings.Builder
	for _, fragment := range fragments {
		// A fragment that makes its own client is given none.
		parameter := "client"
		if strings.Contains(fragment, "client, err := ") {
			parameter = "_"
		}
		ending := "return nil\n"
		if strings.Contains(fragment, "\nreturn client.Call") {
			ending = ""
		}
		functions.WriteString("\nfunc(ctx context.Context, " + parameter + " *keystile.Client, key string) error {\n" + fragment + ending + "},\n")
	}
	made := newKey(t, serviceClient(t), keystile.CreateKeyRequest{Permissions: []string{"doc.read", "admin"}})
	command := exec.Command(build(t, strings.Replace(fragmentsProgram, "FUNCTIONS", functions.String(), 1)))
	command.Env = append(os.Environ(), "KEYSTILE_URL="+url, "KEYSTILE_ROOT_KEY="+rootKey, "CUSTOMER_KEY="+made.Key)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, says := range []string{"let it pass " + made.KeyID, "Ann, production", "NOT_FOUND 404 req_"} {
		if !strings.Contains(string(out), says) {
			t.Errorf("the output does not contain %q:\n%s", says, out)
		}
	}
}
