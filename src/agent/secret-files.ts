/** Tells files that hold, or may hold, keys and sign-ins, by their names and by what is in them. */

const words = '(?:auth|oauth|credentials?|creds|tokens?|secrets?|passwords?|apikeys?|api[-_]keys?|accounts?)';

/** Names of files that hold nothing else; a text about them may have such a name, too. */
const names = [
  new RegExp(
    `(?:^|[._-])${words}(?:[._-].*)?(?:\\.(?:json|jsonc|toml|ya?ml|ini|cfg|conf|txt|db|sqlite|enc|bak))$`,
    'i',
  ),
  new RegExp(`^\\.?(?:[\\w-]*[._-])?${words}$`, 'i'),
  /\.(?:pem|key|p12|pfx|jks|keystore|kdbx|asc|gpg|ppk)$/i,
  /^id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?$/i,
  /^\.(?:env(?:\..*)?|netrc|npmrc|pypirc|pgpass|git-credentials)$/i,
];

/** What keys of services look like, and private keys. */
const contents = [
  /-----BEGIN [A-Z ]*PRIVATE KEY/,
  // Those of Anthropic, OpenAI, GitHub, GitLab, npm, Google, Amazon, Slack and Hugging Face.
  /\bsk-[\w-]{20,}/,
  /\b(?:gh[opsur]_|github_pat_|glpat-|npm_|hf_)\w{20,}/,
  /\bAIza[\w-]{35}/,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/,
  /\bxox[abeoprs]-[\w-]{10,}/,
  /\bya29\.[\w-]{20,}/,
  // A token with claims.
  /\beyJ[\w-]{10,1000}\.eyJ[\w-]{10}/,
  /\bBearer [\w.~+/-]{20,}/,
  // A password in an address.
  /:\/\/[^\s/?#:@"'<>`]+:[^\s/?#@"'<>`${}]+@/,
];

/** Why a file is not given away; `undefined`: nothing in it looks like a secret. */
export function secretIn(name: string, text: string): string | undefined {
  if (names.some((form) => form.test(name))) return 'its name says that it holds keys or sign-ins';
  if (contents.some((form) => form.test(text))) return 'it holds what looks like a key';
  return undefined;
}
