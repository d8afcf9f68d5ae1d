/*
 * `node code-cache.cjs ARGS`: runs `cai ARGS`, then writes down what V8 has compiled for it, beside each bundle
 * that was loaded. Functions that were not called are not in there.
 */
'use strict';
const { Buffer } = require('node:buffer');
const { renameSync, writeFileSync } = require('node:fs');
const process = require('node:process');
const vm = require('node:vm');

const bundles = new Map();
vm.Script = class extends vm.Script {
  constructor(source, options) {
    super(source, options);
    bundles.set(options.filename, { script: this, text: source.slice(source.indexOf('{') + 1) });
  }
};
process.on('exit', () => {
  for (const [file, { script, text }] of bundles) {
    const begun = `${file}.cache.${process.pid}`;
    writeFileSync(begun, Buffer.concat([stampOf(text), script.createCachedData()]));
    renameSync(begun, `${file}.cache`);
  }
});
const { stampOf } = require('../bin/cai');
