//! `agent-host models`: lists the models of the configured providers, with window and price where
//! they are known.

use super::configure;
use crate::{
    args::ModelsArgs,
    exit::{Exit, Failure},
    terminal::{BOLD, DIM, Terminal, dollars, escape_line, json_text},
};
use agent_host_app::{ListedModel, Overrides, list_models, nearest};
use serde_json::json;

pub(super) async fn models(args: ModelsArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let config = configure(args.config, Overrides::default())?;
    let known = config.models.providers.iter();
    let known: Vec<&str> = known.map(|provider| provider.name.as_str()).collect();
    if let Some(unknown) = args
        .providers
        .iter()
        .find(|name| !known.contains(&name.as_str()))
    {
        let fix = match nearest(unknown, &known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("available: {}", known.join(", ")),
        };
        return Err(Failure::usage(format!(
            "unknown model provider `{unknown}`; {fix}"
        )));
    }
    let listed = list_models(&config, &args.providers).await;
    if listed.is_empty() {
        return Err(Failure::usage(
            "no provider is configured; set one up with `agent-host init`, or set a key such as OPENAI_API_KEY",
        ));
    }
    let mut exit = Exit::Done;
    for provider in listed {
        match provider.models {
            Ok(models) => {
                for model in &models {
                    terminal.println(&if args.json {
                        as_json(model)
                    } else {
                        line(model)
                    });
                }
            }
            Err(why) => {
                exit = Exit::Failed;
                terminal.error(&format!("{}: {why}", provider.name));
            }
        }
    }
    Ok(exit)
}

fn line(model: &ListedModel) -> String {
    let mut about = Vec::new();
    about.extend(model.window_tokens.map(|tokens| format!("{tokens} tokens")));
    about.extend(model.price.map(|price| {
        let (input, output) = (dollars(price.input_micros), dollars(price.output_micros));
        format!("{input} in, {output} out per million")
    }));
    let name = escape_line(&model.name);
    let line = format!("{BOLD}{name:<44}{BOLD:#} {DIM}{}{DIM:#}", about.join("; "));
    match about.is_empty() {
        true => format!("{BOLD}{name}{BOLD:#}"),
        false => line,
    }
}

fn as_json(model: &ListedModel) -> String {
    let price = model.price.map(|price| {
        json!({
            "input_micros": price.input_micros,
            "cached_input_micros": price.cached_input_micros,
            "cache_write_micros": price.cache_write_micros,
            "output_micros": price.output_micros,
        })
    });
    json_text(&json!({
        "model": model.name,
        "window_tokens": model.window_tokens,
        "price_per_million": price,
    }))
}
