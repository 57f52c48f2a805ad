//! `agent-host login`: a check of the credentials for a registry. They are kept by others, and only
//! read here.

use super::{configure, pull::parse};
use crate::{
    args::LoginArgs,
    exit::{Exit, Failure},
    terminal::{Terminal, escape_line},
};
use agent_host_app::{
    Overrides, check_login,
    oci::{Login, Reference},
};

pub(super) async fn login(args: LoginArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    // A reference needs a name; only its registry counts.
    let host = args.host.trim_end_matches('/');
    let reference: Reference = parse(&format!("oci://{host}/name"))?;
    let registry = reference.registry();
    let config = configure(args.config, Overrides::default())?;
    let login = check_login(&config, &reference).await?;
    terminal.println(&match login {
        Login::Accepted { name, source_name } => {
            let who = match name {
                Some(name) => format!("`{}`", escape_line(&name)),
                None => "an identity token".to_owned(),
            };
            format!("{registry} accepts {who} from {}", escape_line(&source_name))
        }
        Login::Open { unused: None } => format!("{registry} asks for no credentials"),
        Login::Open {
            unused: Some(source),
        } => format!(
            "{registry} asks for no credentials; those from {} were not sent",
            escape_line(&source)
        ),
        Login::Anonymous => format!(
            "you have no credentials for {registry}, which lets you read what is public; to push, or to read more, \
             log in with `docker login {registry}` (its configuration is used), or set \
             `AGENT_HOST_REGISTRY_CREDENTIALS` to `{registry}=NAME:TOKEN`"
        ),
    });
    Ok(Exit::Done)
}
