/**
 * Takes secrets out of a line that can be recognised by their place, such as values of variables and headers, under
 * keys like `token`, or in a form. Any other secret, in running text or among arguments, stays.
 */
import {
  closeBrace,
  closeBracket,
  colon,
  comma,
  openBrace,
  openBracket,
  wantedIn,
  quote,
  scalarEnd,
  skipSpace,
  stringEnd,
  unquote,
} from '../../rpc/json';
import { fieldOf, scan, type Message, type Plans } from '../../rpc/message';
import { elicitationResult } from '../../rpc/protocol/fields';
import { editedText, type Edit } from '../../rpc/splice';

/** What stands in place of a secret. */
export const redactedText = '<redacted>';

const formPlan = wantedIn(elicitationResult);
const plans: Plans = { params: () => undefined, result: () => formPlan, error: undefined };

/** Words, or escapes that could hide one, without which a line cannot hold a secret; nearly no line has any. */
const suspicious =
  /token|key|authori[sz]ation|bearer|passw|passphrase|pwd|jwt|secret|credential|cookie|code"|env(?:"|ironment|.?var)|headers|ur[li]|href|link|endpoint|redirect|"action"|authenticat|providers|:\\?\/\\?\/[^/\s]*@|\\u/i;

/** Of a longer key only the end is looked at, in characters. */
const maxKeyLength = 256;
/** Where a word begins within a key, as in `apiKey` and `AWSSecret`. */
const wordStart = /(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g;
/** Keys whose value is secret; they are compared without the signs between their words. */
const secretKey =
  /(?:token|(?:(?:api|access|private|secret|session)key|^key|authori[sz]ation|bearer|password|passwd|pwd|passphrase|jwt|secret|credential|cookie)s?)$/;
/** The same words elsewhere in a key whose words are joined by `_`: `API_KEY_ANTHROPIC`, but not `secretary`. */
const secretWord =
  /(?:^|_)(?:(?:api|access|private|secret|session)_?key|authori[sz]ation|password|passwd|passphrase|secret|credential|cookie)s?_/;
/** Names of lists or maps of which all values are secret, and only the names are shown. `my.env`, but no `cabenv`. */
const namedValues = /(?:^|_)env$/;
/** Names of such lists or maps, but not of texts, as `environment` may be one's name. */
const variables = /(?:^|_)env(?:ironment)?(?:_?var(?:iable)?s?)?$/;
const addressKey = /(?:ur[li]|href|link|endpoint|redirect)s?$/;
/** Name and password in an address anywhere in a text. */
const passwordInAddress = /:\/\/[^\s/?#:@"<>`\\]*:[^\s/?#"<>`\\]+@/g;
/** An address that holds a password, a query or a fragment which is no place in a file, as `#L10-L20` is. */
const tellingAddress = /:\/\/[^/]*@|\?|#(?!L\d[-:CL\d]*$)/;
/** An address in parts: scheme, who signs in, host and port, the rest. */
const addressParts = /^([a-z][a-z0-9+.-]*:\/\/)([^/?#\\]*@)?([^/?#@\\]*)(.*)/is;
/** Keys of params to sign in whose values are no secrets. */
const openKeys = new Set(['methodid', 'providerid', 'id', 'sessionid', 'apitype']);
const signsIn = /^(?:authenticate|providers\/set)$/;

/** What is done with the values in an object or array. */
type Rule =
  /** Values stay, but for those under a secret key. */
  | 'keep'
  /** Values go, but for what the key says to be open. */
  | 'signIn'
  /** All values go. */
  | 'secret'
  /** A map of values by their names, or a list of pairs. */
  | 'named'
  /** Such a map or list; a text, a number or a literal stays. */
  | 'variables'
  /** One such pair, or an entry of another form. */
  | 'pair'
  /** An address: it goes if it holds a password or a query. */
  | 'address'
  /** Values stay as with `keep`, but for all of an address behind its port: its path may be the key to a server. */
  | 'server'
  /** The address of a server, for `server`. */
  | 'origin'
  /** Texts go, but for those in objects. Numbers are codes of errors and exits. */
  | 'text'
  /** All texts go. Numbers are counts. */
  | 'texts';

/** The line without secrets. One that is no message goes as a whole if it could hold any. */
export function redact(line: Buffer): { readonly text: string; readonly isRedacted: boolean } {
  const text = line.toString('utf8');
  if (!suspicious.test(text)) return { text, isRedacted: false };
  const message = scan(line, plans);
  if (message.kind === 'defect') return { text: redactedText, isRedacted: true };
  const edits = secretsOf(message);
  return { text: editedText(line, 0, line.length, edits), isRedacted: edits.length > 0 };
}

/** The edits that take the secrets out of a message, whose line is known to be JSON. */
function secretsOf(message: Message): Edit[] {
  const { line } = message;
  const edits: Edit[] = [];
  const isForm = isFormResult(message);
  const open: { isObject: boolean; rule: Rule }[] = [];
  let rule: Rule = 'keep';
  let isKey = false;
  let at = 0;
  while ((at = skipSpace(line, at)) < line.length) {
    const c = line[at];
    if (c === openBrace || c === openBracket) {
      isKey = c === openBrace;
      if (at === message.bodyStart && signsIn.test(message.method)) rule = 'signIn';
      if (rule === 'variables') rule = 'named';
      // The elements of a list of pairs.
      if (rule === 'named' && c === openBracket) rule = 'pair';
      open.push({ isObject: isKey, rule });
      at++;
    } else if (c === closeBrace || c === closeBracket) {
      open.pop();
      at++;
    } else if (c === comma) {
      const { isObject, rule: outer } = open.at(-1)!;
      isKey = isObject;
      rule = outer;
      at++;
    } else if (c === colon) {
      at++;
    } else if (isKey) {
      const end = stringEnd(line, at + 1);
      const key = unquote(line, at, end);
      rule = isForm && key === 'content' ? 'secret' : ruleOf(key, open.at(-1)!.rule);
      isKey = false;
      at = end;
    } else {
      const end = c === quote ? stringEnd(line, at + 1) : scalarEnd(line, at);
      const text = shownOf(rule, line, at, end);
      if (text !== undefined) edits.push({ start: at, end, text: JSON.stringify(text) });
      at = end;
    }
  }
  return edits;
}

/** The rule for the value under a key of an object with the rule `outer`. */
function ruleOf(key: string, outer: Rule): Rule {
  const words = key
    .slice(-maxKeyLength)
    .replace(wordStart, '_')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_');
  const word = words.replaceAll('_', '');
  if (outer === 'secret' || outer === 'named') return 'secret';
  if (outer === 'pair') return word === 'name' ? 'keep' : 'secret';
  if (outer === 'texts') return 'texts';
  if (outer === 'signIn') return openKeys.has(word) ? 'keep' : 'secret';
  // It is no secret: the client of an MCP server chooses it to be told of progress.
  if (word === 'progresstoken') return 'keep';
  if (secretKey.test(word)) return 'secret';
  if (word.endsWith('tokens')) return 'texts';
  if (word.endsWith('code')) return 'text';
  if (namedValues.test(words) || word.endsWith('headers')) return 'named';
  if (variables.test(words)) return 'variables';
  const isServer = outer === 'server' || word === 'mcpservers';
  if (addressKey.test(word)) return isServer ? 'origin' : 'address';
  if (secretWord.test(words)) return 'secret';
  return isServer ? 'server' : 'keep';
}

/** What stands in place of the scalar at `[start, end)`; undefined: itself. `true`, `false` and `null` tell nothing. */
function shownOf(rule: Rule, line: Buffer, start: number, end: number): string | undefined {
  const stays = rule === 'keep' || rule === 'server' || rule === 'variables';
  if (stays) return line[start] === quote ? withoutPasswords(unquote(line, start, end)) : undefined;
  if (line[start] !== quote) {
    const isOpen =
      /^(?:address|origin|texts?)$/.test(rule) || /^[tfn]/.test(line.toString('latin1', start, end));
    return isOpen ? undefined : redactedText;
  }
  if (rule === 'address') return tellingAddress.test(unquote(line, start, end)) ? redactedText : undefined;
  return rule === 'origin' ? shownOrigin(unquote(line, start, end)) : redactedText;
}

/** `undefined` without any. */
function withoutPasswords(text: string): string | undefined {
  const shown = text.replace(passwordInAddress, `://${redactedText}@`);
  return shown === text ? undefined : shown;
}

function shownOrigin(address: string): string | undefined {
  const [, scheme, user, host, rest] = addressParts.exec(address) ?? [];
  if (scheme === undefined) return redactedText;
  return user === undefined && (rest === '' || rest === '/') ? undefined : `${scheme}${host}/${redactedText}`;
}

/** Whether a message answers a form; all that was filled in is secret. Source: ACP, elicitation. */
function isFormResult(message: Message): boolean {
  return message.kind === 'response' && fieldOf(message, 'elicitationAction') !== undefined;
}
