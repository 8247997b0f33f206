// A real Bluesky server (PDS) with a directory of accounts, both in memory, on loopback. Run by test_real_bluesky.py in a
// folder with @atproto/dev-env and @atproto/api. It prints its address and an account, then the facets that the official client
// finds in each text that it reads, all as lines of JSON. It ends with its input.
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'

const require = createRequire(`${process.cwd()}/`)
const { TestNetworkNoAppView } = require('@atproto/dev-env')
const { RichText } = require('@atproto/api')

const network = await TestNetworkNoAppView.create({ pds: { rateLimitsEnabled: true } })
const agent = network.pds.getClient()
const accounts = []
for (const name of ['alice', 'mia', 'noa']) {
  const account = { email: `${name}@example.test`, handle: `${name}.test`, password: 'open-sesame' }
  const made = await agent.com.atproto.server.createAccount(account)
  accounts.push({ ...account, did: made.data.did })
}
console.log(JSON.stringify({ server: network.pds.url, accounts }))
for await (const line of createInterface({ input: process.stdin })) {
  const text = new RichText({ text: JSON.parse(line) })
  text.detectFacetsWithoutResolution()
  console.log(JSON.stringify(text.facets ?? []))
}
process.exit(0)
