// Package keystile verifies API keys with a Keystile service and manages them.
//
// Make one [Client] with [New] and keep it. It is safe for concurrent use. [Client.Protect] guards a net/http handler,
// [Client.Verify] decides about one key, and the other methods make and change keys, apis and identities.
package keystile

// Version is the version of this client.
const Version = "0.1.0"
