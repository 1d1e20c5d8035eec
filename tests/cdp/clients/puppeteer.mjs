// Drives the browser as puppeteer-core does, unchanged: connect by HTTP, tabs, typing, screenshots, a private context.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [endpoint, packages, headers] = process.argv.slice(2);
const entry = createRequire(`${packages}/`).resolve('puppeteer-core');
const { default: puppeteer } = await import(pathToFileURL(entry));

const browser = await puppeteer.connect({ browserWSEndpoint: endpoint, headers: JSON.parse(headers), defaultViewport: null });
const page = await browser.newPage();
await page.setContent('<title>Form</title><input id="name"><button onclick="document.title = document.querySelector(`#name`).value">Go</button>');
await page.type('#name', 'héllo 世界');
await page.click('button');
await page.waitForFunction(() => document.title !== 'Form');
const title = await page.title();
const image = await page.screenshot();
const secret = await browser.createBrowserContext();
const hidden = await secret.newPage();
await hidden.goto('about:blank');
const contexts = browser.browserContexts().length;
await secret.close();
await page.close();
await browser.disconnect();
process.stdout.write(JSON.stringify({ title, png: [...image.slice(1, 4)].map((code) => String.fromCharCode(code)).join(''), contexts }));
