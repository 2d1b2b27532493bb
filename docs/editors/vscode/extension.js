// Starts `raceflip lsp` for the models that are open. Everything else is the server's.

const { window, workspace, commands } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

async function start() {
  const command = workspace.getConfiguration("raceflip").get("path", "raceflip");
  const server = { command, args: ["lsp"] };
  client = new LanguageClient("raceflip", "raceflip", server, { documentSelector: [{ language: "race" }] });
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    window.showErrorMessage(`\`${command} lsp\` does not start: ${error.message}. The setting raceflip.path names the program.`);
  }
}

async function stop() {
  const running = client;
  client = undefined;
  await running?.stop();
}

exports.activate = async (context) => {
  const restart = async () => {
    await stop();
    await start();
  };
  context.subscriptions.push(commands.registerCommand("raceflip.restart", restart));
  context.subscriptions.push(
    workspace.onDidChangeConfiguration((event) => event.affectsConfiguration("raceflip.path") && restart()),
  );
  await start();
};

exports.deactivate = stop;
