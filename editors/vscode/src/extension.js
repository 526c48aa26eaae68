// Starts `gsdsl lsp` and connects it to the editor; the server has all features.
"use strict";

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function settings() {
  const configured = vscode.workspace.getConfiguration("gsdsl");
  return {
    mathematics: configured.get("mathematics"),
    checkData: configured.get("checkData"),
    allowOutside: configured.get("allowOutside"),
  };
}

async function start() {
  const command = vscode.workspace.getConfiguration("gsdsl").get("command");
  client = new LanguageClient(
    "gsdsl",
    "gsdsl",
    { command, args: ["lsp"] },
    {
      documentSelector: [{ language: "gsm" }],
      initializationOptions: settings(),
      synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher("**/*.gsm") },
      middleware: {
        // The code lenses `solve` and `test`: save first, then show the output of the command.
        executeCommand: async (name, parameters, next) => {
          const document = vscode.workspace.textDocuments.find((d) => d.uri.toString() === parameters[0]);
          if (document !== undefined && document.isDirty) await document.save();
          client.outputChannel.show(true);
          return next(name, parameters);
        },
      },
    },
  );
  try {
    await client.start();
  } catch (error) {
    vscode.window.showErrorMessage(
      `${command} lsp does not start: ${error.message}. Install it in the folder of gsdsl with: pip install '.[lsp]', ` +
        "or set gsdsl.command.",
    );
  }
}

async function stop() {
  const running = client;
  client = undefined;
  if (running !== undefined && running.needsStop()) await running.stop();
}

async function activate(context) {
  context.subscriptions.push(
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (event.affectsConfiguration("gsdsl")) {
        await stop();
        await start();
      }
    }),
  );
  await start();
}

module.exports = { activate, deactivate: stop };
