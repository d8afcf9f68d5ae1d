import { catalog } from '../../src/agent/catalog';
import { agentNames } from '../../src/config/agent-names';

test('the names of agents are those of the catalog', () => {
  expect(agentNames).toEqual(Object.keys(catalog));
});
