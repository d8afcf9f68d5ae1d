import { readFileSync } from 'node:fs';
import { capabilityFindings, methodFindings, placeFindings, type Schemas } from './schema-compare';
import type { Schema, SchemaNode } from './schema-walk';

/** A fresh copy of the schemas of the installed SDK. */
function readSchemas(): Schemas {
  const read = (name: string): Schema => {
    const file = require.resolve(`@agentclientprotocol/sdk/schema/v1/${name}.json`);
    return JSON.parse(readFileSync(file, 'utf8')) as Schema;
  };
  return { stable: read('schema'), unstable: read('schema.unstable') };
}

/** The members of a type. */
function membersOf(schema: Schema, type: string): Record<string, SchemaNode> {
  return schema.$defs[type]!.properties!;
}

describe('the protocol tables, against the schemas of the installed SDK', () => {
  test('have a row for every method, from the right sender and of the right origin', () => {
    expect(methodFindings(readSchemas())).toEqual([]);
  });

  test('name every place that could hold a path, a URI or an id, or it is decided to leave it alone', () => {
    expect(placeFindings(readSchemas())).toEqual([]);
  });

  test('ask for capabilities that exist', () => expect(capabilityFindings(readSchemas())).toEqual([]));
});

describe('the comparison', () => {
  test('tells a method that is new', () => {
    const schemas = readSchemas();
    schemas.unstable.$defs.MoveSessionRequest = {
      type: 'object',
      'x-method': 'session/move',
      'x-side': 'agent',
    };
    schemas.unstable.$defs.PauseRequest = {
      type: 'object',
      'x-method': 'session/cancel',
      'x-side': 'client',
    };

    expect(methodFindings(schemas)).toEqual(['agent session/cancel: no row', 'editor session/move: no row']);
  });

  test('tells a field that is new, wherever it stands', () => {
    const schemas = readSchemas();
    membersOf(schemas.stable, 'NewSessionRequest').home = { type: ['string', 'null'] };
    membersOf(schemas.unstable, 'Diff').oldPath = { type: 'string' };
    membersOf(schemas.unstable, 'PromptResponse').turnId = { type: 'integer' };
    membersOf(schemas.unstable, 'SubagentUpdate').parent = { allOf: [{ $ref: '#/$defs/SessionId' }] };

    expect(placeFindings(schemas)).toEqual([
      'session/new/params/home: not decided',
      'session/prompt/result/turnId: not decided',
      'session/request_permission/params/toolCall/content/*/?type=diff/oldPath: not decided',
      'session/update/params/update/?sessionUpdate=subagent_update/parent: not decided',
      'session/update/params/update/?sessionUpdate=tool_call/content/*/?type=diff/oldPath: not decided',
      'session/update/params/update/?sessionUpdate=tool_call_update/content/*/?type=diff/oldPath: not decided',
    ]);
  });
});
