package keystile_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"testing"
	"time"

	keystile "github.com/keystile/keystile/clients/go"
)

type caseFile struct {
	Status  map[keystile.VerdictCode]int `json:"status"`
	Answers []struct {
		Name    string `json:"name"`
		Service struct {
			Status     int             `json:"status"`
			Date       string          `json:"date"`
			RetryAfter string          `json:"retryAfter"`
			Body       json.RawMessage `json:"body"`
		} `json:"service"`
		Status  int                `json:"status"`
		Headers map[string]*string `json:"headers"`
		Body    map[string]any     `json:"body"`
	} `json:"answers"`
	Cases []struct {
		Name  string                    `json:"name"`
		Key   keystile.CreateKeyRequest `json:"key"`
		Steps []caseStep                `json:"steps"`
	} `json:"cases"`
}

type caseStep struct {
	Verify *caseVerify    `json:"verify"`
	Text   *string        `json:"text"`
	Expect map[string]any `json:"expect"`
	Update *struct {
		Enabled *bool          `json:"enabled"`
		Expires *keystile.Time `json:"expires"`
	} `json:"update"`
	UpdateRemaining *keystile.UpdateRemainingRequest `json:"updateRemaining"`
	Delete          *keystile.DeleteKeyRequest       `json:"delete"`
	Rotate          *struct {
		OverlapMs int64 `json:"overlapMs"`
	} `json:"rotate"`
}

type caseVerify struct {
	APIID          string               `json:"apiId"`
	Cost           *int64               `json:"cost"`
	Permissions    any                  `json:"permissions"`
	Tags           []string             `json:"tags"`
	Ratelimits     []caseRequestedLimit `json:"ratelimits"`
	ClientIP       string               `json:"clientIp"`
	Idempotent     bool                 `json:"idempotent"`
	IdempotencyKey string               `json:"idempotencyKey"`
}

type caseRequestedLimit struct {
	Name     string `json:"name"`
	Cost     *int64 `json:"cost"`
	Limit    int64  `json:"limit"`
	Duration int64  `json:"duration"`
	Async    *bool  `json:"async"`
}

// caseKey is the key of one case while its steps run.
type caseKey struct {
	id, secret, previous string
}

func readCases(t *testing.T) caseFile {
	t.Helper()
	text, err := os.ReadFile("../cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var file caseFile
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&file); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestAnswersAreThoseOfEveryClient(t *testing.T) {
	for _, each := range readCases(t).Answers {
		t.Run(each.Name, func(t *testing.T) {
			headers := []string{"Date", each.Service.Date}
			if each.Service.RetryAfter != "" {
				headers = append(headers, "Retry-After", each.Service.RetryAfter)
			}
			server := script(t, answers(each.Service.Status, string(each.Service.Body), headers...))
			client := clientOf(t, server.URL, func(o *keystile.Options) { o.Retries = -1 })
			got := visit(client.Protect(greeting, keystile.Route{}), "X-API-Key", testKey)
			if got.Code != each.Status {
				t.Errorf("got the status %d", got.Code)
			}
			for name, want := range each.Headers {
				values := got.Header().Values(name)
				if want == nil && len(values) != 0 || want != nil && (len(values) != 1 || values[0] != *want) {
					t.Errorf("%s: got %q", name, values)
				}
			}
			var body any
			decoder := json.NewDecoder(got.Body)
			decoder.UseNumber()
			if each.Status != http.StatusOK && (decoder.Decode(&body) != nil || !contains(body, each.Body)) {
				t.Errorf("want %v, got %v", each.Body, body)
			}
		})
	}
}

func TestSharedCases(t *testing.T) {
	file := readCases(t)
	if len(file.Cases) < 40 {
		t.Fatalf("want at least 40 cases, got %d", len(file.Cases))
	}
	for code, status := range file.Status {
		if got := (keystile.Verdict{Code: code}).Status(); got != status {
			t.Errorf("%s: want the status %d, got %d", code, status, got)
		}
	}
	client := serviceClient(t)
	apis := map[string]string{"": "", "own": newAPI(t, client), "other": newAPI(t, client)}
	for _, each := range file.Cases {
		t.Run(each.Name, func(t *testing.T) {
			each.Key.APIID = apis["own"]
			made := newKey(t, client, each.Key)
			key := &caseKey{id: made.KeyID, secret: made.Key}
			for index, step := range each.Steps {
				if err := runStep(client, key, step, apis); err != nil {
					t.Fatalf("step %d: %v", index+1, err)
				}
			}
		})
	}
}

func runStep(client *keystile.Client, key *caseKey, step caseStep, apis map[string]string) error {
	ctx := context.Background()
	switch {
	case step.Update != nil:
		request := keystile.UpdateKeyRequest{KeyID: key.id, Enabled: step.Update.Enabled}
		if step.Update.Expires != nil {
			request.Expires = keystile.Set(*step.Update.Expires)
		}
		return client.UpdateKey(ctx, request)
	case step.UpdateRemaining != nil:
		request := *step.UpdateRemaining
		request.KeyID = key.id
		_, err := client.UpdateRemaining(ctx, request)
		return err
	case step.Delete != nil:
		request := *step.Delete
		request.KeyID = key.id
		return client.DeleteKey(ctx, request)
	case step.Rotate != nil:
		rotated, err := client.RotateKey(ctx, key.id, time.Duration(step.Rotate.OverlapMs)*time.Millisecond)
		key.previous, key.secret = key.secret, rotated.Key
		return err
	case step.Verify != nil:
		return verifyStep(client, key, step, apis)
	default:
		return fmt.Errorf("the step does nothing that this client knows")
	}
}

func verifyStep(client *keystile.Client, key *caseKey, step caseStep, apis map[string]string) error {
	text := key.secret
	if step.Text != nil {
		text = *step.Text
	}
	if text == "previous" {
		text = key.previous
	}
	verdict := client.Verify(context.Background(), text, step.Verify.options(apis))
	seen := fieldsOf(verdict)
	if verdict.Cause != nil {
		seen["cause"] = string(verdict.Cause.Code)
	}
	if !contains(seen, step.Expect) {
		return fmt.Errorf("expected %v, got %v", step.Expect, seen)
	}
	return nil
}

func (v caseVerify) options(apis map[string]string) keystile.VerifyOptions {
	options := keystile.VerifyOptions{
		APIID: apis[v.APIID], Cost: v.Cost, Permissions: queryOf(v.Permissions), Tags: v.Tags, ClientIP: v.ClientIP,
		Idempotent: v.Idempotent, IdempotencyKey: v.IdempotencyKey,
	}
	for _, limit := range v.Ratelimits {
		options.Ratelimits = append(options.Ratelimits, keystile.RequestedLimit{
			Name: limit.Name, Cost: limit.Cost, Limit: limit.Limit, Async: limit.Async,
			Duration: time.Duration(limit.Duration) * time.Millisecond,
		})
	}
	return options
}

func queryOf(value any) *keystile.PermissionQuery {
	switch read := value.(type) {
	case string:
		return keystile.Permission(read)
	case map[string]any:
		if parts, isAnd := read["and"]; isAnd {
			return keystile.And(queriesOf(parts)...)
		}
		return keystile.Or(queriesOf(read["or"])...)
	default:
		return nil
	}
}

func queriesOf(value any) []*keystile.PermissionQuery {
	var queries []*keystile.PermissionQuery
	for _, part := range value.([]any) {
		queries = append(queries, queryOf(part))
	}
	return queries
}

func fieldsOf(verdict keystile.Verdict) map[string]any {
	text, err := json.Marshal(verdict)
	if err != nil {
		panic(err)
	}
	var fields map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&fields); err != nil {
		panic(err)
	}
	return fields
}

// contains: seen has everything that wanted has. Lists are compared as a whole.
func contains(seen, wanted any) bool {
	switch expected := wanted.(type) {
	case map[string]any:
		fields, isObject := seen.(map[string]any)
		for name, value := range expected {
			if !isObject || !contains(fields[name], value) {
				return false
			}
		}
		return isObject
	case []any:
		items, isList := seen.([]any)
		if !isList || len(items) != len(expected) {
			return false
		}
		for index, value := range expected {
			if !contains(items[index], value) {
				return false
			}
		}
		return true
	default:
		return reflect.DeepEqual(seen, wanted)
	}
}
